"""Tables that stream from the ranks to the file have the same bytes however their rows are distributed."""

import time
import zlib

import h5py
import numpy as np
import pytest

from hpcsolve.answers.contents import Contents, Dataset, DistanceTable
from hpcsolve.errors import DamagedFileError
from hpcsolve.output.hdf5 import has_seal
from hpcsolve.output.large_tables import Chunks, chunk_shape, deflated, map_in_order, stored_chunk, write_with_tables
from hpcsolve.output.reader import read_result, row_blocks
from hpcsolve.parallel.comm import SerialComm
from tests.cli.test_result_file import contents
from tests.thread_comm import on_ranks

MEANING = Dataset("uint32", "Distances", "search, vertex", "m")


def write(path, values, none=None):
    """Write a file with a table of one rank."""
    table = DistanceTable(values, 0, len(values), MEANING, none).with_row_ranges(SerialComm())
    return write_with_tables(path, {"distance": (table, Chunks(table).receive(SerialComm(), 2))}, contents)


def said_of(found):
    """What is known of a table in a file without its values."""
    return {name: (t.shape, t.dtype, t.none, t.dataset, len(t.values)) for name, t in found.tables.items()}


def test_a_table_reads_back_with_its_scales(tmp_path):
    values = np.arange(7 * 1000, dtype=np.uint32).reshape(7, 1000) ** 2
    made = write(tmp_path / "r.h5", values, none=2**32 - 1)
    assert isinstance(made, Contents)
    found = read_result(tmp_path / "r.h5")
    assert np.array_equal(found.value("solution", "distance"), values)
    assert said_of(found) == {"distance": ((7, 1000), np.uint32, 2**32 - 1, MEANING, 0)}
    assert found.value("solution", "tour").tolist() == [0, 1, 2, 3, 4]
    small = read_result(tmp_path / "r.h5", tables=False)
    assert small.value("solution", "distance") is None and said_of(small) == said_of(found)
    with h5py.File(tmp_path / "r.h5") as file:
        dataset = file["solution/distance"]
        assert (dataset.compression, dataset.compression_opts, dataset.shuffle) == ("gzip", 1, True)
        assert [list(dataset.dims[axis].keys()) for axis in (0, 1)] == [["search"], ["vertex"]]
        assert dataset.attrs["_FillValue"] == dataset.fillvalue == 2**32 - 1 and dataset.attrs["units"] == "m"
    assert has_seal(tmp_path / "r.h5") and (tmp_path / "r.h5").read_bytes()[8] == 0, "superblock of version 0"
    assert [path.name for path in tmp_path.iterdir()] == ["r.h5"]


@pytest.mark.parametrize(("shape", "itemsize"), [((1, 1), 4), ((64, 264346), 4), ((99999, 3), 8), ((2, 10**7), 8)])
def test_chunks_are_about_a_megabyte_and_little_is_padding(shape, itemsize):
    rows, columns = chunk_shape(shape, itemsize)
    assert 1 <= rows <= shape[0] and 1 <= columns <= shape[1] and rows * columns * itemsize <= 1 << 20
    assert rows == 1 or columns == shape[1]
    assert -(-shape[1] // columns) * columns < shape[1] * 1.01 + 1


def test_rows_in_pieces(tmp_path, monkeypatch):
    values = np.arange(40, dtype=np.int32).reshape(8, 5)
    write(tmp_path / "r.h5", values)
    monkeypatch.setattr("hpcsolve.output.reader.BLOCK_BYTES", 3 * 5 * 4)
    pieces = list(row_blocks(tmp_path / "r.h5", ["distance", "distance"]))
    assert [first for first, _ in pieces] == [0, 3, 6]
    assert np.array_equal(np.concatenate([blocks[1] for _, blocks in pieces]), values)


SPLITS = [[0, 9], [0, 4, 9], [0, 0, 9, 9], [0, 1, 1, 2, 9], [0, 3, 5, 7, 9], [0, 2, 4, 6, 9]]


def written(path, values, bounds, threads=1):
    """Return the bytes of the file, and rank 0's `gathered`, when rank k has the rows bounds[k] to bounds[k + 1]."""

    def of_rank(comm):
        first, stop = bounds[comm.rank : comm.rank + 2]
        table = DistanceTable(values[first:stop], first, len(values), MEANING, 7).with_row_ranges(comm)
        names = ("distance", "predecessor")
        if comm.rank:
            for _ in names:
                Chunks(table).send(comm, threads)
        else:
            write_with_tables(path, {name: (table, Chunks(table).receive(comm, threads)) for name in names}, contents)
        return table.gathered(comm)

    first, *others = on_ranks(len(bounds) - 1, of_rank)
    assert others == [None] * len(others)
    return path.read_bytes(), first


@pytest.mark.parametrize(("rows", "columns"), [(1, 4), (2, 10), (3, 10), (4, 10), (9, 10), (20, 10)])
def test_ranks_and_threads_make_the_same_bytes(rows, columns, tmp_path, monkeypatch):
    """Chunks of part of a row, of a row, of several rows that end with a rank's rows or not, of all rows."""
    monkeypatch.setattr("hpcsolve.output.large_tables.CHUNK_BYTES", rows * columns * 4)
    values = np.random.default_rng(1).integers(0, 99, (9, 10)).astype(np.uint32)
    found = []
    for number, bounds in enumerate(SPLITS):
        whole, kept = written(tmp_path / "r.h5", values, bounds, threads=1 + number % 3)
        assert np.array_equal(kept, values)
        found.append(whole)
    assert found[1:] == found[:-1]
    assert np.array_equal(read_result(tmp_path / "r.h5").value("solution", "distance"), values)
    with h5py.File(tmp_path / "r.h5") as file:
        assert file["solution/distance"].chunks == (min(rows, 9), min(columns, 10 if columns == 10 else 4))


def test_little_is_ready_before_it_is_taken(tmp_path, monkeypatch):
    """A rank that is far ahead of rank 0 waits: only as many of its messages as may be are under way."""
    monkeypatch.setattr("hpcsolve.output.large_tables.CHUNK_BYTES", 4000)
    monkeypatch.setattr("hpcsolve.output.large_tables.AHEAD_BYTES", 10_000)
    values = np.random.default_rng(1).integers(0, 2**32, (50, 1000), dtype=np.uint32)
    counts = []

    class Counting(SerialComm):
        rank, under_way, most = 1, 0, 0

        def allgather(self, value):
            return [(0, 0), value]

        def send(self, array, to):
            self.under_way += array.nbytes
            counts.append(self.under_way)
            return Taken(self, array.nbytes)

    class Taken:
        def __init__(self, comm, nbytes):
            self.comm, self.nbytes = comm, nbytes

        def wait(self):
            self.comm.under_way -= self.nbytes

    table = DistanceTable(values, 0, 50, MEANING).with_row_ranges(comm := Counting())
    Chunks(table).send(comm, 1)
    assert comm.under_way == 0 and len(counts) == 100 and 8000 < max(counts) < 15_000


@pytest.mark.parametrize("dtype", ["uint32", "int32", "uint64", "float64", "uint8"])
@pytest.mark.parametrize("shape", [(3, 50), (2, 50), (3, 7)])
def test_a_chunk_is_what_hdf5_reads(dtype, shape, tmp_path):
    """Its bytes are shuffled, then compressed with gzip, and filled up beyond the edge of the table."""
    piece = np.random.default_rng(3).integers(0, 99, shape).astype(dtype)
    with h5py.File(tmp_path / "r.h5", "w") as file:
        options = {"chunks": (3, 50), "compression": "gzip", "compression_opts": 1, "shuffle": True, "fillvalue": 7}
        dataset = file.create_dataset("table", (3, 50), dtype, **options)
        dataset.id.write_direct_chunk((0, 0), stored_chunk(piece, (3, 50), 7))
        found = dataset[()]
    assert np.array_equal(found[: shape[0], : shape[1]], piece)
    found[: shape[0], : shape[1]] = 7
    assert (found == 7).all()


def noise(shape, dtype):
    return np.random.default_rng(4).integers(0, np.iinfo(dtype).max, shape, dtype)


DEFLATED = {
    "no numbers": np.empty((0, 5), np.uint32),
    "one": np.array([[7]], np.uint32),
    "bytes": noise((3, 41), np.uint8),
    "distances": np.cumsum(noise((2, 99_991), np.uint16) % 3000, axis=1, dtype=np.uint32),
    "noise": noise((2, 99_991), np.uint64),
    "unreached": np.where(np.arange(200_001) % 1000 < 500, 2**32 - 1, noise(200_001, np.uint32)).astype(np.uint32),
    "floats": np.random.default_rng(5).random((4, 1000)),
    "every other row": noise((40, 999), np.int32)[::2],
}


@pytest.mark.parametrize("name", DEFLATED)
def test_deflated_numbers_are_a_zlib_stream_about_as_short_as_zlibs(name):
    values = DEFLATED[name]
    by_byte = b"".join(values.tobytes()[byte :: values.itemsize] for byte in range(values.itemsize))
    packer = zlib.compressobj(1, strategy=zlib.Z_RLE)
    expected = packer.compress(by_byte) + packer.flush()
    found = deflated(values)
    assert zlib.decompress(found) == by_byte
    assert len(found) <= 1.02 * len(expected) + 64
    assert deflated(values.copy()) == found


def test_low_bytes_of_distances_are_stored_as_they_are():
    """That takes no time. In a road network only the high half of a distance gets shorter."""
    values = DEFLATED["distances"]
    low = values.astype(np.uint8).tobytes()
    assert low[:65535] in deflated(values) and low[65535 : 2 * 65535] in deflated(values)
    assert len(deflated(values)) < 0.56 * values.nbytes


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_keep_the_order_and_take_few_items_ahead(threads):
    taken = []

    def items():
        for number in range(50):
            taken.append(number)
            yield number

    for number, square in enumerate(map_in_order(lambda x: x * x, items(), threads)):
        assert square == number**2
        assert len(taken) <= number + 2 * threads + 2
    assert len(taken) == 50


def test_an_error_in_a_thread_is_raised():
    with pytest.raises(ZeroDivisionError):
        list(map_in_order(lambda x: 1 // x, [1, 0, 2], 2))


def test_rows_that_do_not_fit_together_are_a_bug():
    def work(comm):
        return DistanceTable(np.zeros((3, 2)), 2 * comm.rank, 6, MEANING).with_row_ranges(comm)

    with pytest.raises(ValueError, match="the ranks have"):
        on_ranks(2, work)


def bomb(file):
    file["solution"].create_dataset("x", (1 << 20, 1 << 20), "u1", chunks=(1 << 10, 1 << 10), compression="gzip")


def without_scales(file):
    file["solution"]["x"] = np.zeros((3, 4))


def scale_of_other_length(file):
    file["solution"]["x"] = np.zeros((3, 4))
    for axis in (0, 1):
        file["solution/x"].dims[axis].attach_scale(file["solution/vertex"])


def table_elsewhere(file):
    file.create_group("layers")["x"] = np.zeros((3, 4))


@pytest.mark.parametrize(("change", "message"), [
    (bomb, "claims to hold 1099511627776 bytes, but the 0 stored ones hold at most 0"),
    (without_scales, "/solution/x has no dimension scale of length 3"),
    (scale_of_other_length, "/solution/x has no dimension scale of length 3"),
    (table_elsewhere, "/layers/x has two dimensions"),
])
@pytest.mark.parametrize("tables", [True, False])
def test_hostile_tables_are_refused(change, message, tables, tmp_path):
    write(tmp_path / "r.h5", np.zeros((2, 9), dtype=np.uint32))
    with h5py.File(tmp_path / "r.h5", "r+") as file:
        change(file)
    with pytest.raises(DamagedFileError) as error:
        read_result(tmp_path / "r.h5", tables=tables)
    assert message in str(error.value)


def test_a_large_table_takes_seconds(tmp_path):
    """It has as many numbers as that of 64 sources in New York and is as hard to compress."""
    n = 264_346
    row = np.sort(np.random.default_rng(1).integers(0, 1_400_000, n)).astype(np.uint32)
    values = np.stack([np.abs(row.astype(np.int64) - row[k * 4000]).astype(np.uint32) for k in range(64)])
    started = time.process_time()
    write(tmp_path / "r.h5", values)
    assert time.process_time() - started < 6
