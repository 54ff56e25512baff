"""Downloads in the background: in order after the kernels, beside later ones, through bounded page-locked memory."""

import gc
import time

import numpy as np
import pytest

from hpcsolve.errors import LaunchError
from tests.device.conftest import new_device

SIZES = [1, 63, 64, 65, 255, 256, 257, 1000, 5003]


def small_pieces(device, nbytes=256, most=3):
    """Make the pieces of a GPU's downloads so small that a test needs many."""
    if device.info.kind == "cuda":
        device.downloads.piece_bytes, device.downloads.most = nbytes, most  # type: ignore[attr-defined]


@pytest.fixture
def own(test_device):
    """Yield a device with small pieces."""
    with new_device(test_device) as device:
        small_pieces(device)
        yield device


@pytest.mark.parametrize("size", SIZES)
def test_a_download_of_any_size_is_what_was_there(own, size):
    array = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)
    assert np.array_equal(own.upload(array).download(), array)


def test_downloads_run_beside_later_work(own):
    buffers = [own.empty(3000, np.uint16) for _ in range(5)]
    arrays = [np.zeros(3000, np.uint16) for _ in buffers]
    downloads = []
    for value, (buffer, array) in enumerate(zip(buffers, arrays)):
        buffer.fill(value + 1)
        downloads.append(buffer.start_download(array))
        own.upload(np.arange(9))  # waits for the device, as reading a search's state does
    if own.info.kind == "cuda":
        assert downloads[0].missing < 6000, "no piece came down meanwhile"
    for download in reversed(downloads):
        download.wait()
        download.wait()
    assert [set(array.tolist()) for array in arrays] == [{0x101 * value} for value in range(1, 6)]


def test_a_download_comes_after_what_was_queued_before_it(own):
    """Fails if the copies' stream does not wait for that of the kernels, or if a piece is read before its event."""
    buffer, found = own.zeros(4000, np.uint8), np.zeros(4000, np.uint8)
    for value in range(1, 9):
        buffer.fill(value)
        buffer.start_download(found).wait()
        assert (found == value).all()


def test_freeing_waits_for_the_copy(own):
    whole = own.upload(np.arange(2000, dtype=np.int32))
    found = np.zeros(1900, np.int32)
    download = whole.view(100, 1900).start_download(found)
    whole.free()
    del whole
    gc.collect()
    own.zeros(2000, np.int32)
    download.wait()
    assert np.array_equal(found, np.arange(100, 2000))


def test_a_download_into_another_shape_or_type_is_refused(own):
    buffer = own.zeros(300, np.int64)
    for wrong in (np.zeros(299, np.int64), np.zeros(300, np.int32), np.zeros(600, np.int64)[::2]):
        with pytest.raises(LaunchError, match="int64"):
            buffer.start_download(wrong)


def test_a_device_may_be_closed_during_a_download(test_device):
    with new_device(test_device) as device:
        small_pieces(device)
        device.zeros(5000, np.int64).start_download(np.empty(5000, np.int64))


def test_locked_memory_is_bounded_and_given_back(own, test_device):
    if test_device == "cpu":
        pytest.skip("only a GPU locks memory")
    for _ in range(3):
        own.zeros(5000, np.int64).download()
    assert sum(nbytes for nbytes, _ in own.pinned.values()) == 3 * 256
    own.close()
    assert not own.pinned and not own.notes


def test_a_piece_is_not_filled_again_before_it_is_moved(own, test_device, monkeypatch):
    if test_device == "cpu":
        pytest.skip("only a GPU copies through pieces")
    copy = np.copyto

    def slowly(target, content):
        time.sleep(0.01)
        copy(target, content)

    monkeypatch.setattr(np, "copyto", slowly)
    array = np.random.default_rng(1).integers(0, 256, 5000).astype(np.uint8)
    assert np.array_equal(own.upload(array).download(), array)


def test_downloads_into_locked_memory_pass_through_nothing(own, test_device):
    array, staging = np.arange(3000), own.staging(3000, np.int64)
    assert own.upload(array).download(staging) is staging and np.array_equal(staging, array)
    assert test_device == "cpu" or not own.downloads.pieces


def test_copies_beside_kernels_follow_their_mark_and_later_work_follows_them(own):
    """The copies have streams of their own on a GPU: neither order follows from the kernels' stream."""
    buffer, other, staging = own.zeros(3000, np.int64), own.zeros(3000, np.int64), own.staging(3000, np.int64)
    buffer.fill(1)
    mark = own.mark()
    down = buffer.copy_out(staging, mark)
    down.wait()
    assert mark.done() and down.done() and set(staging.tolist()) == {0x0101010101010101}
    staging[...] = np.arange(3000)
    up = other.copy_in(staging, own.mark())
    up.join()
    found = other.download(own.staging(3000, np.int64))
    assert up.done() and np.array_equal(found, np.arange(3000))
