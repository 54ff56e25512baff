"""Bad files of tours and matrices are refused within a second, in one line that names file, line and mistake."""

import gzip
import io
import lzma
import re
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile

import numpy as np
import pytest

from hpcsolve.errors import InputError, ResourceError
from hpcsolve.formats import files, read, read_graph, read_tour
from hpcsolve.formats.npy import read_batch
from tests.formats.reading import refusal

COORDINATES = ("NAME: t\nTYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"
               "1 0 0\n2 3 0\n3 0 4\nEOF\n")
MATRIX = ("NAME: t\nTYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\n"
          "EDGE_WEIGHT_SECTION\n0 1 2\n1 0 3\n2 3 0\nEOF\n")
TOUR = "TYPE: TOUR\nDIMENSION: 3\nTOUR_SECTION\n3\n1\n2\n-1\nEOF\n"

# name: (text, old, new, what the message must say after the path)
BAD_TSPLIB = {
    "truncated": (COORDINATES, "3 0 4\nEOF\n", "", ":7: NODE_COORD_SECTION ends after 2 of 3 cities"),
    "truncated in a line": (COORDINATES, " 4\nEOF\n", "", ":8: expected a city's number and 2 coordinates, found '3"),
    "truncated header": (COORDINATES, COORDINATES[31:], "", ":3: EDGE_WEIGHT_TYPE is missing; add a line like"),
    "cut in a key": (COORDINATES, COORDINATES[40:], "", ":4: neither a number nor a keyword: 'EDGE_WEIG'"),
    "no section": (COORDINATES, COORDINATES[56:], "", ":4: NODE_COORD_SECTION is missing; the file may be truncated"),
    "more cities": (COORDINATES, "EOF", "4 1 1", ":9: more cities in NODE_COORD_SECTION than DIMENSION says (3)"),
    "too small DIMENSION": (COORDINATES, "DIMENSION: 3", "DIMENSION: 2", ":8: more cities"),
    "a billion cities": (COORDINATES, "DIMENSION: 3", "DIMENSION: 1000000000", ":8: NODE_COORD_SECTION ends after 3"),
    "negative DIMENSION": (COORDINATES, "DIMENSION: 3", "DIMENSION: -3", ":3: DIMENSION is '-3'"),
    "zero DIMENSION": (COORDINATES, "DIMENSION: 3", "DIMENSION: 0", ":3: DIMENSION is '0'"),
    "no DIMENSION": (COORDINATES, "DIMENSION: 3\n", "", ":4: DIMENSION is missing; add a line like `DIMENSION: 42`"),
    "endless DIMENSION": (COORDINATES, "DIMENSION: 3", "DIMENSION: " + "9" * 5000, ":3: DIMENSION is '9999"),
    "misspelt DIMENSION": (COORDINATES, "DIMENSION", "DIMENSOIN", ":3: DIMENSOIN is not known; did you mean DIM"),
    "key twice": (COORDINATES, "EDGE", "DIMENSION: 3\nEDGE", ":4: DIMENSION is given twice, first on line 3"),
    "section twice": (COORDINATES, "EOF", "NODE_COORD_SECTION\n1 0 0", ":9: NODE_COORD_SECTION is given twice"),
    "unknown section": (COORDINATES, "NODE_COORD", "NODE_CORD", ":5: unknown section NODE_CORD_SECTION; did"),
    "data on the section's line": (COORDINATES, "SECTION\n", "SECTION ", ":5: '1 0 0' after NODE_COORD_SECTION"),
    "city twice": (COORDINATES, "3 0 4", "1 0 4", ":8: city 1 is given twice, first on line 6"),
    "negative city": (COORDINATES, "3 0 4", "-3 0 4", ":8: city number -3 is out of range"),
    "endless city": (COORDINATES, "3 0 4", "9" * 30 + " 0 4", ":8: a city's number must be a whole number"),
    "half a city": (COORDINATES, "3 0 4", "2.5 0 4", ":8: a city's number must be a whole number, found '2.5'"),
    "three coordinates": (COORDINATES, "2 3 0", "2 3 0 1", ":7: expected a city's number and 2 coordinates"),
    "NaN coordinate": (COORDINATES, "3 0 4", "3 nan 4", ":8: a coordinate must be a number, found 'nan'"),
    "inf coordinate": (COORDINATES, "3 0 4", "3 inf 4", ":8: a coordinate must be a number, found 'inf'"),
    "infinite exponent": (COORDINATES, "3 0 4", "3 1e999 4", ":8: a coordinate must be a number, found '1e999'"),
    "underscores": (COORDINATES, "3 0 4", "3 1_0 4", ":8: a coordinate must be a number"),
    "Fortran exponent": (COORDINATES, "3 0 4", "3 1.0D+1 4", ":8: a coordinate must be a number"),
    "huge coordinate": (COORDINATES, "3 0 4", "3 1e300 4", ":5: the coordinates are so large that"),
    "word in the data": (COORDINATES, "3 0 4", "three 0 4", ":8: neither a number nor a keyword: 'three 0 4'"),
    "stray text": (COORDINATES, "NODE", "1 2 3\nNODE", ":5: neither a keyword nor in a section: '1 2 3'"),
    "NUL": (COORDINATES, "2 3 0", "2 3\0 0", ":7: a NUL byte"),
    "unknown weight type": (COORDINATES, "EUC_2D", "EUC2D", ":4: EDGE_WEIGHT_TYPE 'EUC2D' is not known; did you"),
    "special weights": (COORDINATES, "EUC_2D", "SPECIAL", ":4: EDGE_WEIGHT_TYPE 'SPECIAL' is not known"),
    "no weight type": (COORDINATES, "EDGE_WEIGHT_TYPE: EUC_2D\n", "", ":4: EDGE_WEIGHT_TYPE is missing"),
    "empty weight type": (COORDINATES, "EUC_2D", "", ":4: EDGE_WEIGHT_TYPE is missing"),
    "matrix format of coordinates": (COORDINATES, "NODE", "EDGE_WEIGHT_FORMAT: UPPER_ROW\nNODE", ":5: EDGE_WEIGHT_FO"),
    "both sections": (COORDINATES, "EOF", "EDGE_WEIGHT_SECTION\n1 2 3", ":9: there is an EDGE_WEIGHT_SECT"),
    "SOP of coordinates": (COORDINATES, "TYPE: TSP", "TYPE: SOP", ":4: EDGE_WEIGHT_TYPE of a SOP must be EXPLICIT"),
    "HCP": (COORDINATES, "TYPE: TSP", "TYPE: HCP", ":2: TYPE 'HCP' is not known; hpcsolve does not solve the Ha"),
    "CVRP": (COORDINATES, "TYPE: TSP", "TYPE: CVRP", ":2: TYPE 'CVRP' is not known; hpcsolve does not solve vehi"),
    "TOUR": (COORDINATES, "TYPE: TSP", "TYPE: TOUR", ":2: this is a tour, not an instance"),
    "unknown type": (COORDINATES, "TYPE: TSP", "TYPE: ATPS", ":2: TYPE 'ATPS' is not known; did you mean ATSP?"),
    "no type": (COORDINATES, "TYPE: TSP\n", "", ":4: TYPE is missing; add a line like `TYPE: TSP`"),
    "fixed edges": (COORDINATES, "EOF", "FIXED_EDGES_SECTION\n1 2\n-1", ":9: FIXED_EDGES_SECTION: of a TSP or"),
    "demands": (COORDINATES, "EOF", "DEMAND_SECTION\n1 2", ":9: DEMAND_SECTION: hpcsolve does not solve vehicle"),
    "asymmetric TSP": (MATRIX, "2 3 0", "2 4 0", ":8: TYPE is TSP, but the costs from city 2 to 3 and from 3 to 2"),
    "one cost short": (MATRIX, "2 3 0", "2 3", ":9: EDGE_WEIGHT_SECTION has 8 numbers, but FULL_MATRIX of 3 cities"),
    "one cost too many": (MATRIX, "2 3 0", "2 3 0\n1", ":10: EDGE_WEIGHT_SECTION has 10 numbers, but FULL"),
    "another layout": (MATRIX, "1 0 3\n2 3 0", "", ":7: EDGE_WEIGHT_SECTION has 3 numbers (as UPPER_ROW or LOWER_ROW"),
    "no costs": (MATRIX, "0 1 2\n1 0 3\n2 3 0\nEOF", "", ":6: EDGE_WEIGHT_SECTION has 0 numbers"),
    "a billion rows": (MATRIX, "DIMENSION: 3", "DIMENSION: 1000000000", ":9: EDGE_WEIGHT_SECTION has 9 numbers"),
    "word for a cost": (MATRIX, "1 0 3", "1 0 x", ":8: expected a cost, found 'x'"),
    "two signs": (MATRIX, "1 0 3", "1 0 --3", ":8: expected a cost, found '--3'"),
    "glued signs": (MATRIX, "1 0 3", "1 0-3 4", ":8: expected a cost, found '0-3'"),
    "NaN cost": (MATRIX, "1 0 3", "1 0 NaN", ":8: the cost from city 2 to city 3 is NaN"),
    "-inf": (MATRIX, "1 0 3", "1 0 -inf", ":8: the cost from city 2 to city 3 is -inf"),
    "huge cost": (MATRIX, "1 0 3", "1 0 3000000000000000000", ":8: the cost from city 2 to city 3 is too large"),
    "beyond 64 bits": (MATRIX, "1 0 3", "1 0 99999999999999999999", ":8: the cost from city 2 to city 3 is too large"),
    "overflow of sums": (MATRIX, "1 0 3", f"1 0 {2**62 // 3 + 1}", ":8: the cost from city 2 to city 3 is too large"),
    "too many decimals": (MATRIX, "1 0 3", "1 0 1e-30", ":8: the cost from city 2 to city 3 has too many digits"),
    "too many digits": (MATRIX, "1 0 3", "1 0 1234567890.0123456789", ":8: the cost from city 2 to city 3 has too"),
    "bomb of an exponent": (MATRIX, "1 0 3", "1 0 1e99999", ":8: the cost from city 2 to city 3 is too large"),
    "no format": (MATRIX, "EDGE_WEIGHT_FORMAT: FULL_MATRIX\n", "", ":5: EDGE_WEIGHT_FORMAT is missing"),
    "unknown format": (MATRIX, "FULL_MATRIX", "FULL", ":5: EDGE_WEIGHT_FORMAT 'FULL' is not known"),
    "function of nothing": (MATRIX, "FULL_MATRIX", "FUNCTION", ":5: EDGE_WEIGHT_FORMAT 'FUNCTION' is not known"),
    "bad display data": (MATRIX, "EOF", "DISPLAY_DATA_SECTION\n1 2 3\n2 3\n", ":12: expected a city's number and 2"),
}


@pytest.mark.parametrize("name", BAD_TSPLIB)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_bad_tsplib_files(tmp_path, name, line_end):
    text, old, new, message = BAD_TSPLIB[name]
    assert old in text
    path = tmp_path / "t.tsp"
    path.write_bytes(text.replace(old, new, 1).replace("\n", line_end).encode())
    assert refusal(read, str(path)).startswith(str(path) + message)


@pytest.mark.parametrize("end", ["\n", "\N{LINE SEPARATOR}", "\x85"])
def test_a_name_with_the_end_of_a_line_in_it(tmp_path, end):
    assert "/two lines.tsp: cannot be read" in refusal(read, f"{tmp_path}/two{end}lines.tsp")


BAD_TOURS = {
    "truncated": (TOUR, "2\n-1\nEOF\n", "", ":2: DIMENSION is 3, but the tour has 2 cities"),
    "city twice": (TOUR, "2\n-1", "3\n-1", ":6: city 3 is given twice, first on line 4"),
    "too long": (TOUR, "2\n-1", "2 4\n-1", ":2: DIMENSION is 3, but the tour has 4 cities"),
    "negative": (TOUR, "2\n-1", "-2\n-1", ":6: city number -2 is out of range"),
    "word": (TOUR, "2\n-1", "2 x\n-1", ":6: a city's number must be a whole number, found 'x'"),
    "two tours": (TOUR, "EOF", "4\n-1", ":8: a second tour"),
    "no tour": (TOUR, "3\n1\n2\n-1", "", ":2: DIMENSION is 3, but the tour has 0 cities"),
    "no tour, no DIMENSION": ("TOUR_SECTION\n-1\n", "-1", "-1", ":1: the tour has no cities"),
    "no section": ("TYPE: TOUR\n", "", "", ":1: TOUR_SECTION is missing"),
    "an instance": (COORDINATES, "", "", ":2: TYPE is TSP, not TOUR"),
}


@pytest.mark.parametrize("name", BAD_TOURS)
def test_bad_tours(tmp_path, name):
    text, old, new, message = BAD_TOURS[name]
    path = tmp_path / "t.tour"
    path.write_text(text.replace(old, new, 1))
    assert refusal(read_tour, str(path)).startswith(str(path) + message)


BAD_TABLES = {
    "ragged": ("0,1\n2,0,3\n", ":2: 3 cells in a table of 2 rows"),
    "not square": ("0,1,2\n3,0,4\n", ":1: 3 cells in a table of 2 rows"),
    "NaN": ("0,1\nnan,0\n", ":2: the cost from city 1 to city 0 (cell 1) is NaN"),
    "word": ("0,1\nx1,0\n", ":2: the cost from city 1 to city 0 (cell 1) is not a number: 'x1'"),
    "decimal comma": ('0,2\n"1,5",0\n',  ":2: the cost from city 1 to city 0 (cell 1) is not a number: '1,5'"),
    "too large": ("# t\n0,1\n4e18,0\n", ":3: the cost from city 1 to city 0 (cell 1) is too large"),
    "too large an integer": ("0,1\n3000000000000000000,0\n", ":2: the cost from city 1 to city 0"),
    "too many digits": ("0,1\n0.1234567890123456789,0\n", ":2: the cost from city 1 to city 0 (cell 1) has too many d"),
    "names disagree": (",a,b\na,0,1\nc,2,0\n", ":3: this row is named 'c', but its column 'b'"),
    "too few names": ("a,b,c\n0,1\n2,0\n", ":2: 2 cells under a first row of 3; give each city one cell"),
    "too many names": ("a,b,c,d\n0,1\n2,0\n", ":1: a first row of 4 names over 2 rows"),
    "labels or costs": (",0,1\n0,,5\n1,6,\n", ":1: the first row and column may be labels or costs; write 0 into ever"),
    "a label twice": (",7,7\n7,0,5\n7,6,0\n", ":1: the first row and column may be labels, but two of these are t"),
    "only comments": ("# a\n#b\n", ":2: there are no rows"),
    "NUL": ("0,1\n2\0,0\n", ":2: a NUL byte"),
    "two numbers in a cell": ("0,1\n2 3,0\n", ":2: the cost from city 1 to city 0 (cell 1) is not a number: '2 3'"),
    "thousands": ("0,1\n2\xa0000,0\n", ":2: the cost from city 1 to city 0 (cell 1) is not a number: '2\\xa0000'"),
    "diagonal word": ("0,1\n2,x\n", ":2: the cost from city 1 to city 1 (cell 2) is not a number"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables(tmp_path, name):
    text, message = BAD_TABLES[name]
    path = tmp_path / "m.csv"
    path.write_text(text)
    assert refusal(read, str(path)).startswith(str(path) + message)


def npy(shape, dtype="<f8", data=b"", version=(1, 0)):
    header = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode() if shape is not None else b"{{{{"
    size = struct.pack("<H" if version == (1, 0) else "<I", len(header))
    return b"\x93NUMPY" + bytes(version) + size + header + data


def saved(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


BAD_NPY = {
    "a billion cities": (npy((10**9, 10**9)), ": the header says 8000000000000000000 bytes"),
    "2^70 entries": (npy((2**35, 2**35)), ": the header says"),
    "negative shape": (npy((-2, -2), data=bytes(32)), ": the header says 32 bytes (shape (-2, -2)"),
    "truncated": (npy((2, 2), data=bytes(31)), ": the header says 32 bytes (shape (2, 2), float64), but there are 31"),
    "trailing bytes": (npy((2, 2), data=bytes(33)), ": the header says 32 bytes"),
    "no shape": (npy(None), ": damaged .npy header"),
    "cut header": (npy((2, 2))[:30], ": damaged .npy header"),
    "version 9": (npy((2, 2), version=(9, 0)), ": damaged .npy header"),
    "pickle": (saved(np.array([[0, {}], [1, 0]], dtype=object), allow_pickle=True), ": holds object; it must hold"),
    "texts": (saved(np.array([["a", "b"], ["c", "d"]])), ": holds <U1"),
    "one row": (saved(np.zeros(4)), ": the cost matrix has shape (4,)"),
    "nothing": (saved(np.zeros((0, 0))), ": the cost matrix has shape (0, 0)"),
    "NaN": (saved(np.array([[0, np.nan], [1, 0]])), ": the cost from city 0 to city 1 is NaN"),
}


@pytest.mark.parametrize("name", BAD_NPY)
def test_bad_npy(tmp_path, name):
    content, message = BAD_NPY[name]
    path = tmp_path / "m.npy"
    path.write_bytes(content)
    assert refusal(read, str(path)).startswith(str(path) + message)


def zipped():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", "b")
    return file.getvalue()


PACKED = gzip.compress(COORDINATES.encode(), mtime=0)
BAD_FILES = {
    "empty": (b"", ": is empty"),
    "blanks": (b" \n\n", ": is empty"),
    "prose": (b"Dear all,\nthis is no instance\n", ":1: the format is not known; hpcsolve reads TSPLIB"),
    "zip": (zipped(), ": is a graph (scipy sparse matrix), not"),
    "HDF5": (b"\x89HDF\r\n\x1a\n", ": is an HDF5 file"),
    "bzip2": (b"BZh91AY", ": is compressed with bzip2"),
    "zstd": (b"\x28\xb5\x2f\xfd", ": is compressed with zstd"),
    "cut gz": (PACKED[:-20], ": is damaged and cannot be decompressed"),
    "wrong gz": (PACKED[:20] + b"xxxxxxxxxx" + PACKED[30:], ": is damaged and cannot be decompressed"),
    "cut xz": (lzma.compress(COORDINATES.encode())[:-9], ": is damaged and cannot be decompressed"),
    "noise": (bytes(range(1, 256)), ":1: a control character (0x01)"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(tmp_path, name):
    content, message = BAD_FILES[name]
    path = tmp_path / "file"
    path.write_bytes(content)
    assert refusal(read, str(path)).startswith(str(path) + message)


def test_missing_files_and_folders(tmp_path):
    assert refusal(read, f"{tmp_path}/none.tsp") == f"{tmp_path}/none.tsp: cannot be read: No such file or directory"
    assert refusal(read, str(tmp_path)) == f"{tmp_path}: cannot be read: Is a directory; name a file in it"
    assert "cannot be read" in refusal(read, "a\0b")


def test_what_expands_beyond_the_bound_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAXIMUM_BYTES", 2**30)
    bomb = gzip.compress(b" " * 2**24, compresslevel=1) * 65
    (tmp_path / "bomb.gz").write_bytes(bomb)
    begin = time.process_time()
    with pytest.raises(InputError, match="holds more than 1 GiB"):
        read(tmp_path / "bomb.gz")
    assert time.process_time() - begin < 10


def zeros_npz(names):
    """Return a zip file of a few kilobytes whose arrays are many zeros."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, saved(np.zeros(2**20)))
    return stream.getvalue()


BOMBS = {
    "a.gr.xz": lambda: lzma.compress(b"p sp 2 999999\n" + b"a 1 2 3\n" * 2**20, preset=0),
    "a.tsp.gz": lambda: gzip.compress(b"DIMENSION : 3\n" + b"1 2 3 4\n" * 2**20, 1),
    "a.csv.gz": lambda: gzip.compress(b"1,2,3,4\n" * 2**20, 1),
    "a.npz": lambda: zeros_npz(["format.npy"]),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_takes_no_more_than_a_share_of_the_memory(tmp_path, monkeypatch, name):
    """Each is 8 MiB when it is decompressed, where 24 MiB are free."""
    path = tmp_path / name
    path.write_bytes(BOMBS[name]())
    assert path.stat().st_size < 2**18
    monkeypatch.setattr(files, "available_memory", lambda: 24 * 2**20)
    tracemalloc.start()
    with pytest.raises(ResourceError, match=f"^{re.escape(str(path))}.* holds more than 6 MiB, 25% of the free"):
        (read if name in ("a.tsp.gz", "a.csv.gz") else read_graph)(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 * 2**20


def test_the_members_of_an_archive_share_the_memory(tmp_path, monkeypatch):
    path = tmp_path / "batch.npz"
    path.write_bytes(zeros_npz([f"{number}.npy" for number in range(9)]))
    monkeypatch.setattr(files, "available_memory", lambda: 4 * 20 * 2**20)
    with pytest.raises(ResourceError, match=r"2\.npy: holds more than 20 MiB, 25% of the free memory"):
        read_batch(str(path), read)


def test_a_reader_that_runs_out_of_memory_is_refused_in_one_line(tmp_path):
    """With so little address space that the content fits, and not what is read from it."""
    (tmp_path / "a.gr.xz").write_bytes(BOMBS["a.gr.xz"]())
    program = "import resource, sys; from hpcsolve import cli, memory, formats; from hpcsolve.formats import known;" \
              "limit = 24 * 2**20 + int(open('/proc/self/statm').read().split()[0]) * 4096;" \
              "resource.setrlimit(resource.RLIMIT_AS, (limit, limit)); formats.files.LARGEST_PART = 1;" \
              "formats.require_free = lambda *_: None;" \
              "formats.read_graph('a.gr.xz')"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    said = done.stderr.splitlines()[-1]
    assert said.startswith("hpcsolve.errors.ResourceError: a.gr.xz: reading it takes more memory than is free"), done
