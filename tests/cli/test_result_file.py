"""Result files are written as a whole or not at all, and read back. Damaged and hostile ones are refused."""

import os
import resource
import subprocess
import sys
import time
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from hpcsolve.answers.contents import Contents, Dataset
from hpcsolve.errors import DamagedFileError, EnvironmentFault, InputError, ResourceError
from hpcsolve.output import reader
from hpcsolve.output.hdf5 import file_image, sealed, write_result
from hpcsolve.output.reader import read_own, read_result
from hpcsolve.output.schema import FORMAT, FORMAT_VERSION
from hpcsolve.replacing import make_folder

ATTRIBUTES = {
    "format": FORMAT, "format_version": FORMAT_VERSION, "created": "2026-11-21T00:00:00+00:00", "complete": True,
    "algorithm": "held-karp", "cost": 12, "verified": True,
}


def contents(**groups):
    tour = Dataset("int32", "Cities", "place").column(np.arange(5, dtype=np.int32))
    return Contents(ATTRIBUTES, {"solution": {"tour": tour, "optimal": Dataset("bool", "O").column(True)}, **groups})


def names(*texts):
    return Dataset("text", "Name", "city").column(texts)


def test_everything_reads_back(tmp_path):
    big = Dataset("float64", "Many", "row", "km").column(np.arange(100_000) % 7 / 3)
    job, instance = {"toml": Dataset("text", "Job").column("a = 1\n")}, {"city_name": names("Zürich", "", "Αθήνα")}
    written = contents(job=job, instance=instance, layers={"big": big})
    write_result(tmp_path / "r.h5", written)
    found = read_result(tmp_path / "r.h5")
    assert found.attributes == ATTRIBUTES
    assert found.value("job", "toml") == "a = 1\n"
    assert found.value("instance", "city_name").tolist() == ["Zürich", "", "Αθήνα"]
    assert np.array_equal(found.value("layers", "big"), big.values)
    assert found.value("solution", "tour").dtype == np.int32
    assert found.value("solution", "optimal") == 1
    assert found.groups["layers"]["big"].dataset == big.dataset
    assert (tmp_path / "r.h5").stat().st_size < 200_000, "large columns are compressed"


def test_the_layout_is_what_other_tools_read(tmp_path):
    write_result(tmp_path / "r.h5", contents(instance={"city_name": names("a", "b")}))
    with h5py.File(tmp_path / "r.h5") as file:
        tour = file["solution/tour"]
        assert dict(tour.attrs).items() >= {"units": "1", "description": "Cities"}.items()
        assert file["solution/place"].is_scale and list(tour.dims[0].keys()) == ["place"]
        assert file["solution/optimal"].dtype == np.uint8, "no enumerations"
        assert h5py.check_string_dtype(file["instance/city_name"].dtype).encoding == "utf-8"
    head = (tmp_path / "r.h5").read_bytes()[8]
    assert head == 0, "superblock of version 0: any HDF5 reads it"


def test_the_bytes_have_no_time_in_them():
    first = file_image(contents())
    time.sleep(1.1)
    assert file_image(contents()) == first


def test_a_folder_is_made_and_a_bad_one_refused(tmp_path):
    make_folder(tmp_path / "a" / "b" / "r.h5")
    assert list((tmp_path / "a" / "b").iterdir()) == []
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "r.h5", tmp_path / "file" / "x" / "r.h5"):
        with pytest.raises(EnvironmentFault, match="no file can be made in this folder"):
            make_folder(path)


FULL = """
import sys
from hpcsolve.output.hdf5 import write_result
from tests.cli.test_result_file import contents
from tests.full_disk import fill_disk
fill_disk(4096)
try:
    write_result(sys.argv[1], contents())
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_full_disk_leaves_the_old_file(tmp_path, repository, run_process):
    path = tmp_path / "r.h5"
    path.write_bytes(b"old")
    done = run_process([sys.executable, "-c", FULL, str(path)], timeout=30, cwd=repository)
    assert done.stdout.startswith(f"EnvironmentFault {path}: cannot be written: File too large"), done.stderr
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["r.h5"]


def test_a_stale_part_or_link_is_no_obstacle_and_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    (tmp_path / "r.h5.part").symlink_to(victim)
    write_result(tmp_path / "r.h5", contents())
    assert victim.read_bytes() == b"mine"
    assert read_result(tmp_path / "r.h5").attributes["cost"] == 12


KILLED_WRITER = """
import os, sys
from pathlib import Path
from hpcsolve.replacing import replacing
with replacing(Path(sys.argv[1])) as part:
    part.write_bytes(b"half")
    os.kill(os.getpid(), 9)
"""


def test_the_part_file_of_a_zombie_is_removed(tmp_path):
    """Containers without an init process reap late or never, so the number of a killed writer stays in use."""
    writer = subprocess.Popen([sys.executable, "-c", KILLED_WRITER, str(tmp_path / "r.h5")])
    os.waitid(os.P_PID, writer.pid, os.WEXITED | os.WNOWAIT)
    left = [path.name for path in tmp_path.iterdir()]
    make_folder(tmp_path / "r.h5")
    assert len(left) == 1 and left[0].endswith(".part") and list(tmp_path.iterdir()) == []
    assert writer.wait() == -9


def tampered(tmp_path, change):
    write_result(tmp_path / "r.h5", contents(job={"toml": Dataset("text", "Job").column("x")}))
    with h5py.File(tmp_path / "r.h5", "r+") as file:
        change(file)
    return tmp_path / "r.h5"


def forged(tmp_path, change):
    """Return a tampered file under a right seal, for which no child process tries the file first."""
    path = tampered(tmp_path, change)
    path.write_bytes(sealed(path.read_bytes()))
    return path


def external_data(file):
    secret = file.filename + ".secret"
    Path(secret).write_bytes(b"secret..")
    del file["solution/tour"]
    file["solution"].create_dataset("tour", (2,), "i4", external=[(secret, 0, 8)])


def virtual_data(file):
    layout = h5py.VirtualLayout(shape=(5,), dtype="i4")
    layout[:] = h5py.VirtualSource(file.filename, "solution/tour", shape=(5,))
    file["solution"].create_virtual_dataset("x", layout)


def bomb(file):
    file["solution"].create_dataset("x", (1 << 40,), "u1", chunks=(1 << 20,), compression="gzip")


def promise(file):
    file["solution"].create_dataset("x", (1 << 33,), "u1")


def link(target):
    def change(file):
        file["solution/x"] = target

    return change


def dataset(name="x", **options):
    return lambda file: file["solution"].create_dataset(name, **options)


def reference(file):
    file["solution"]["x"] = file["solution/tour"].ref


def many(file):
    for number in range(99):
        file["solution"][f"x{number}"] = 1


def scale_elsewhere(file):
    """List a virtual dataset as a dimension scale, in a group that is looked at later."""
    virtual_data(file)
    file.move("solution/x", "zz/x")
    file["zz/x"].make_scale("x")
    file["solution/tour"].dims[0].attach_scale(file["zz/x"])


def inflating_chunk(file):
    """Write a chunk of 300 kB that inflates to 300 MB, though its dataset has 32 bytes."""
    made = file["solution"].create_dataset("x", (8,), "i4", chunks=(8,), compression="gzip")
    packed = zlib.compressobj(9)
    pieces = [packed.compress(bytes(2**20)) for _ in range(300)]
    made.id.write_direct_chunk((0,), b"".join([*pieces, packed.flush()]))


def huge_chunk(file):
    made = file["solution"].create_dataset("x", (1,), "u1", maxshape=(None,), chunks=(1 << 31,), compression="gzip")
    made.id.write_direct_chunk((0,), zlib.compress(b"x"))


HOSTILE = {
    "external link": (link(h5py.ExternalLink("other.h5", "/x")), ": damaged: /solution/x is a link"),
    "soft link": (link(h5py.SoftLink("/solution/tour")), "is a link"),
    "external data": (external_data, "takes its data from another file or dataset"),
    "virtual data": (virtual_data, "takes its data from another file or dataset"),
    "virtual scale": (scale_elsewhere, "a dimension scale of /solution/tour takes its data from another file or"),
    "inflating chunk": (inflating_chunk, "/solution/x: a chunk expands to more than the 32 bytes that it has"),
    "bomb": (bomb, "claims to hold 1099511627776 bytes, more than the 8589934592 that are read at once"),
    "promise": (promise, "claims to hold 8589934592 bytes, but the 0 stored ones hold at most 0"),
    "unknown group": (lambda file: file.create_group("extra"), "/extra is not part of the format"),
    "group in a group": (lambda file: file["solution"].create_group("x"), "is not part of the format"),
    "named type": (lambda file: file.__setitem__("solution/x", np.dtype("i4")), "is not part of the format"),
    "filter": (dataset(data=np.zeros(9), compression="lzf"), "needs the filters"),
    "checksum filter": (dataset(data=np.zeros(9), fletcher32=True), "needs the filters"),
    "compound": (dataset(data=np.zeros(2, "i4,i4")), "which the format does not have"),
    "cube": (dataset(data=np.zeros((2, 2, 2))), "which the format does not have"),
    "reference": (reference, "which the format does not have"),
    "vlen": (dataset(shape=(2,), dtype=h5py.vlen_dtype("i4")), "which the format does not have"),
    "long attribute": (lambda file: file["solution/tour"].attrs.create("units", np.zeros(4000)), "not a single value"),
    "many": (many, "has 102 datasets"),
    "odd name": (dataset("x y", data=1), "is not part of the format"),
    "odd group": (lambda file: file.create_group("two\nlines"), "/two lines is not part of the format"),
    "link of a group": (lambda file: file.__setitem__("history", h5py.ExternalLink("/etc/passwd", "/x")),
                        ": damaged: /history is a link"),
    "soft link of a group": (lambda file: file.__setitem__("history", h5py.SoftLink("/instance")), "is a link"),
    "dangling link": (link(h5py.SoftLink("/nowhere")), "is a link"),
    "table of a bomb": (dataset(shape=(1 << 21, 1 << 22), dtype="i8", chunks=(1, 1 << 12), shuffle=True),
                        "claims to hold 70368744177664 bytes, but the 0 stored ones hold at most 0"),
    "scale-offset filter": (dataset(data=np.zeros(9, "i4"), scaleoffset=2), "needs the filters"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_before_they_are_read(name, tmp_path, monkeypatch):
    change, message = HOSTILE[name]
    monkeypatch.setattr(reader, "available_memory", lambda: 2**28)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DamagedFileError) as error:
        read_result(forged(tmp_path, change))
    assert message in str(error.value) and "\n" not in str(error.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 256 * 1024, "KiB"


def one_text_for_all(file):
    """Let a million names share one text of 100 kB, which compresses to a file of some 200 kB."""
    del file["solution/tour"]
    made = file["solution"].create_dataset("tour", (2**20,), h5py.string_dtype(), chunks=(2**16,), compression="gzip")
    made[0] = "x" * 100_000
    packed = made.id.read_direct_chunk((0,))[1]
    entry = zlib.decompress(packed)[:16]
    for first in range(0, 2**20, 2**16):
        made.id.write_direct_chunk((first,), zlib.compress(entry * 2**16))


@pytest.mark.parametrize("change", [one_text_for_all, dataset(shape=(2**26,), dtype="u1", compression="gzip",
                                                              data=np.zeros(2**26, "u1"))])
def test_small_files_that_would_take_all_memory_are_refused(change, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "available_memory", lambda: 2**26)
    path = forged(tmp_path, change)
    assert path.stat().st_size < 2**19
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ResourceError, match=r"r\.h5: all that is to be read of it at once takes more than 50% of"):
        read_result(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024, "KiB"


def test_a_chunk_that_takes_more_than_may_be_read_at_once_is_no_damage(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "available_memory", lambda: 2**28)
    message = r"r\.h5: /solution/x has chunks of 2147483648 bytes, which take more memory than may be read"
    with pytest.raises(ResourceError, match=message):
        read_result(forged(tmp_path, huge_chunk))


def test_what_this_process_wrote_is_read_whatever_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "available_memory", lambda: 0)
    write_result(tmp_path / "r.h5", contents())
    assert read_own(tmp_path / "r.h5").attributes["cost"] == 12


@pytest.mark.parametrize(("key", "value", "message"), [
    ("format", "other", "not a result of hpcsolve"),
    ("format_version", 4, "format version 4; this hpcsolve reads versions 1, 2 and 3"),
    ("format_version", "= 1\n", r"format version '= 1\\n'; this hpcsolve"),
])
def test_other_formats_are_named(key, value, message, tmp_path):
    path = tampered(tmp_path, lambda file: file.attrs.__setitem__(key, value))
    with pytest.raises(InputError, match=message):
        read_result(path)


def test_every_truncation_is_refused(tmp_path):
    whole = file_image(contents())
    for length in [9, 50, 95, *range(100, len(whole) - 49, 1999), len(whole) - 49]:
        (tmp_path / "r.h5").write_bytes(whole[:length])
        with pytest.raises((DamagedFileError, InputError)) as error:
            read_result(tmp_path / "r.h5")
        assert "\n" not in str(error.value)


def test_every_changed_byte_is_found_before_hdf5_sees_it(tmp_path):
    whole = file_image(contents())
    assert whole[-48:-32] == b"hpcsolve-sha256:"
    for place in [*range(8, len(whole) - 48, 97), *range(len(whole) - 32, len(whole))]:
        (tmp_path / "r.h5").write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DamagedFileError, match="not those that were written"):
            read_result(tmp_path / "r.h5")


def test_what_a_user_adds_is_no_damage(tmp_path):
    path = tampered(tmp_path, lambda file: file.attrs.create("note", "mine"))
    assert b"hpcsolve-sha256:" not in path.read_bytes()
    assert read_result(path).attributes["cost"] == 12


def test_what_is_no_file_of_ours(tmp_path):
    (tmp_path / "r.h5").write_text("text")
    cases = {tmp_path / "r.h5": "not an HDF5 file", tmp_path / "none.h5": "No such file", tmp_path: "is a folder"}
    for path, message in cases.items():
        with pytest.raises(InputError, match=message):
            read_result(path)
