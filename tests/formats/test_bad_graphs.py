"""Bad graph files are refused within a second, in one line that names file and line."""

import gzip
import io
import zipfile

import numpy as np
import pytest

from hpcsolve.formats import read_graph
from tests.formats.reading import refusal

GR = "c x\np sp 3 3\na 1 2 5\na 2 3 4\na 3 1 9\n"
CO = "p aux sp co 3\nv 1 0 0\nv 2 5 -1\nv 3 1 1\n"
STP = """33D32945 STP File
SECTION Graph
Nodes 3
Edges 2
E 1 2 5
E 2 3 4
END
SECTION Terminals
Terminals 2
T 1
T 2
END
SECTION Coordinates
DD 1 0 0
DD 2 1 1
DD 3 2 2
END
EOF
"""
TW = "c x\np tw 3 2\n1 2\n2 3\n"
MTX = "%%MatrixMarket matrix coordinate real general\n% x\n3 3 2\n1 2 5\n2 3 4.5\n"
METIS = "% x\n3 2 1\n2 5\n1 5 3 4\n2 4\n"
EDGES = "# x\n1 2 5\n2 3 4\n"
FILES = {"t.gr": GR, "t.stp": STP, "tw.gr": TW, "t.mtx": MTX, "t.graph": METIS, "t.edges": EDGES}

BAD = [
    # a trillion promised
    ("t.gr", "p sp 3 3", "p sp 3 1000000000000", ":2: the header says 1000000000000 arcs, but the file has 3; it may"),
    ("t.gr", "p sp 3 3", "p sp 1000000000000 3", ":2: the header says 1000000000000 vertices, too many for "),
    ("t.gr", "p sp 3 3", "p sp 2000000000 3", ":2: the header says 2000000000 vertices"),
    ("t.stp", "Nodes 3", "Nodes 1000000000000", ":3: the header says 1000000000000 vertices"),
    ("t.stp", "Edges 2", "Edges 1000000000000", ":4: the header says 1000000000000 edges"),
    ("tw.gr", "3 2", "3 1000000000000", ":2: the header says 1000000000000 edges"),
    ("t.mtx", "3 3 2", "3 3 1000000000000", ":3: the header says 1000000000000 entries"),
    ("t.mtx", "3 3 2", "1000000000000 1000000000000 2", ":3: the header says 1000000000000 vertices"),
    ("t.graph", "3 2 1", "1000000000000 2 1", ":2: the header says 1000000000000 vertices"),
    ("t.graph", "3 2 1", "3 1000000000000 1", ":2: the header says 2000000000000 neighbours (two for each edge), but"),
    # headers
    ("t.gr", "p sp 3 3\n", "", ":2: the line `p sp VERTICES ARCS` is missing; write it above this one"),
    ("t.gr", "p sp 3 3", "p sp 3", ":2: expected `p sp VERTICES ARCS`, found 'p sp 3'"),
    ("t.gr", "p sp 3 3", "p max 3 3", ":2: expected `p sp VERTICES ARCS`, found 'p max 3 3'"),
    ("t.gr", "p sp 3 3", "p sp three 3", ":2: expected `p sp VERTICES ARCS`, found 'three'"),
    ("t.gr", "p sp 3 3", "p sp -3 3", ":2: expected `p sp VERTICES ARCS`, found '-3'"),
    ("t.gr", "a 1 2 5", "p sp 3 3\na 1 2 5", ":3: a second p line; the first is line 2"),
    ("t.gr", "a 3 1 9\n", "", ":2: the header says 3 arcs, but the file has 2; it may be truncated"),
    ("t.gr", "a 3 1 9\n", "a 3 1 9\na 3 1 9\n", ":2: the header says 3 arcs, but the file has 4"),
    ("t.gr", "a 3 1 9", "e 3 1 9", ":5: neither a comment (c) nor an arc (a): 'e 3 1 9'"),
    ("tw.gr", "p tw", "p td", ":2: expected `p sp VERTICES ARCS`, found 'p td 3 2'"),
    # records
    ("t.gr", "a 2 3 4", "a 2 4 4", ":4: vertex 4 is not a whole number from 1 to 3"),
    ("t.gr", "a 2 3 4", "a 0 3 4", ":4: vertex 0 is not a whole number from 1 to 3"),
    ("t.gr", "a 2 3 4", "a -2 3 4", ":4: vertex -2 is not a whole number from 1 to 3"),
    ("t.gr", "a 2 3 4", "a 2.5 3 4", ":4: vertex 2.5 is not a whole number from 1 to 3"),
    ("t.gr", "a 2 3 4", f"a 2 {10**30} 4", ":4: vertex 18446744073709551615 is not a whole number from 1 to 3"),
    ("t.gr", "a 2 3 4", "a 2 3", ":4: expected a, a tail, a head, a weight, found 'a 2 3'"),
    ("t.gr", "a 2 3 4", "a 2 3 4 5", ":4: expected a, a tail, a head, a weight, found 'a 2 3 4 5'"),
    ("t.gr", "a 2 3 4", "a 2 3 -4", ":4: the weight is negative: -4"),
    ("t.gr", "a 2 3 4", "a 2 3 -0.5", ":4: the weight is negative: -0.5"),
    ("t.gr", "a 2 3 4", "a 2 3 NaN", ":4: a weight must be a number, found 'NaN'"),
    ("t.gr", "a 2 3 4", "a 2 3 inf", ":4: a weight must be a number, found 'inf'"),
    ("t.gr", "a 2 3 4", "a 2 3 1e999", ":4: the weight is infinite; leave out arcs that do not exist"),
    ("t.gr", "a 2 3 4", f"a 2 3 {2**64 - 1}", ":4: the weight is too large, above 18446744073709551614"),
    ("t.gr", "a 2 3 4", "a 2 3 " + "9" * 5000, ":4: the weight is too large, above 18446744073709551614"),
    ("t.gr", "a 2 3 4", "a 2 3 0x4", ":4: a weight must be a number, found '0x4'"),
    ("t.gr", "a 2 3 4", "a 2 3 1_0", ":4: a weight must be a number, found '1_0'"),
    ("t.gr", "a 2 3 4", "a 2 3 1-2", ":4: a weight must be a number, found '1-2'"),
    ("t.gr", "a 2 3 4", "a 2 3 1e", ":4: a weight must be a number, found '1e'"),
    ("t.gr", "a 2 3 4", "a 2 x 4", ":4: a head must be a number, found 'x'"),
    ("t.gr", "a 2 3 4", "a 2 3 \0", ":4: a NUL byte"),
    ("t.gr", "a 2 3 4", "a 2 3 \x1c", ":4: a control character (0x1C)"),
    ("t.gr", "a 2 3 4", "\xa0\na 2 3 4", ":4: neither a comment (c) nor an arc (a): '\\xa0'"),
    ("t.gr", "a 2 3 4", "a 2 3\x854", ":4: expected a, a tail, a head, a weight, found 'a 2 3\\x854'"),
    ("t.gr", "a 2 3 4", "a 2 3 4\x85" + "5", ":4: a weight must be a number, found '4\\x855'"),
    ("t.gr", "a 2 3 4", "a 2 3 " + "4" * 50_000 + "x", ":4: a weight must be a number, found '4444"),
    ("t.stp", "E 2 3 4", "E 2 9 4", ":6: vertex 9 is not a whole number from 1 to 3"),
    ("t.stp", "E 2 3 4", "E 2 3", ":6: expected e, a vertex, a vertex, a weight, found 'E 2 3'"),
    ("t.stp", "E 2 3 4", "A 2 3 4", ":6: arcs (A) are directed; only"),
    ("t.stp", "E 2 3 4", "X 2 3 4", ":6: expected Nodes, Edges or an edge (E), found 'X 2 3 4'"),
    ("t.stp", "Nodes 3\n", "", ":2: SECTION Graph has no line `Nodes NUMBER`"),
    ("t.stp", "Edges 2\n", "Edges 2\nEdges 2\n", ":5: Edges is given twice"),
    ("t.stp", "E 2 3 4", "\xa0\nE 2 3 4", ":6: expected Nodes, Edges or an edge (E), found '\\xa0'"),
    ("t.stp", "T 2", "\u2028\nT 2", ":11: expected Terminals or a terminal (T), found '\\u2028'"),
    ("t.stp", "Terminals 2\n", "Terminals 2\nTerminals 2\n", ":10: Terminals is given twice"),
    ("t.stp", "Terminals 2\n", "Terminals\n", ":9: expected `Terminals NUMBER`, found 'Terminals'"),
    ("t.stp", "T 2", "T 4", ":11: vertex 4 is not a whole number from 1 to 3"),
    ("t.stp", "T 2", "T 1 2", ":11: expected t, a vertex, found 'T 1 2'"),
    ("t.stp", "T 2", "TP 2 7", ":11: 'TP': a prize-collecting Steiner problem, which hpcsolve does not"),
    ("t.stp", "T 2", "Root 2", ":11: 'Root': a rooted Steiner problem"),
    ("t.stp", "Terminals 2", "Terminals 3", ":9: the header says 3 terminals, but the file has 2; it may be truncated"),
    ("t.stp", "Terminals 2\n", "", ":8: SECTION Terminals has no line `Terminals NUMBER`"),
    ("t.stp", "DD 3", "DD 7", ":16: vertex 7 is not a whole number from 1 to 3"),
    ("t.stp", "DD 3 2 2", "DD 3 2 x", ":16: a coordinate must be a number, found 'x'"),
    ("t.stp", "SECTION Coordinates", "SECTION Graph", ":13: SECTION Graph is given twice"),
    ("t.stp", "SECTION Terminals\nTerminals 2\nT 1\nT 2\nEND\n", "", ":13: SECTION Terminals is missing; the file may"),
    ("t.stp", "SECTION Terminals", "SECTION Terms", ":8: SECTION 'Terms': it may change the problem, and hpcsolve"),
    ("t.stp", "EOF", "SECTION NodeWeights\nNW 1\nNW 2\nNW 3\nEND\nEOF", ":18: SECTION 'NodeWeights': hpcsolve does"),
    ("t.stp", "EOF", "section maximumdegrees\nMD 1\nEND\nEOF", ":18: SECTION 'maximumdegrees': hpcsolve does not"),
    ("t.stp", "EOF", "SECTION Obstacles\nRR 1 2 3 4\nEND\nEOF", ":18: SECTION 'Obstacles': it may change the problem"),
    ("t.stp", "EOF", "SECTION Presolve\nLower 3\n\n FIXED 12 # of 90\nEND\nEOF",
     ":21: SECTION Presolve: reductions fixed a cost of '12', which a tree here would not count; give the file"),
    ("t.stp", "EOF", "SECTION Presolve\nFixed\nEND\nEOF", ":19: SECTION Presolve: reductions fixed a cost of ''"),
    ("t.stp", "END\nSECTION T", "END\n1 2\nSECTION T", ":8: text outside of a section: '1'"),
    ("tw.gr", "2 3", "2 3 4", ":4: expected a vertex, a vertex, found '2 3 4'"),
    ("t.mtx", "coordinate real", "array real", ":1: the matrix is stored as 'array'; a graph needs a sparse one, '"),
    ("t.mtx", "real", "complex", ":1: values are 'complex'; weights must be real, integer or pattern"),
    ("t.mtx", "general", "skew-symmetric", ":1: the matrix is 'skew-symmetric'; it must be general or symmetric"),
    ("t.mtx", " general", "", ":1: expected `%%MatrixMarket matrix coordinate"),
    ("t.mtx", "3 3 2", "3 4 2", ":3: the matrix has 3 rows and 4 columns; a graph needs a square one"),
    ("t.mtx", "3 3 2", "3 3", ":3: expected ROWS COLUMNS ENTRIES, found '3 3'"),
    ("t.mtx", "3 3 2\n1 2 5\n2 3 4.5\n", "", ":2: the line of sizes, ROWS COLUMNS ENTRIES, is missing"),
    ("t.mtx", "2 3 4.5", "2 3 -4.5", ":5: the weight is negative: -4.5"),
    ("t.mtx", "2 3 4.5", "2 3 nan", ":5: a value must be a number, found 'nan'"),
    ("t.graph", "3 2 1", "3 2 2", ":2: the format '2' is not three digits of 0 and 1"),
    ("t.graph", "3 2 1", "3", ":2: expected `VERTICES EDGES [FORMAT [CONSTRAINTS]]`, found '3'"),
    ("t.graph", "3 2 1", "4 2 1", ":2: the header says 4 vertices, but the file has 3; it may be truncated"),
    ("t.graph", "1 5 3 4", "1 5 3", ":4: 3 numbers do not fit the format that line 2 gives"),
    ("t.graph", "1 5 3 4", "1 5 7 4", ":4: vertex 7 is not a whole number from 1 to 3"),
    ("t.graph", "1 5 3 4", "1 5 x 4", ":4: expected a number, found 'x'"),
    ("t.graph", "1 5 3 4", "1 6 3 4", ":3: vertices 1 and 2 do not list each other with the same weights (see line 4)"),
    ("t.edges", "2 3 4", "2 3", ":3: expected a vertex, a vertex, a weight, found '2 3'"),
    ("t.edges", "2 3 4", "2 -3 4", ":3: vertex -3.0 is not a whole number from 0 to 2^63 - 1"),
    ("t.edges", "2 3 4", "Oslo Rome 4", ":3: expected a vertex, a vertex, a weight, found 'Oslo Rome 4'"),
    ("t.edges", "1 2 5\n2 3 4", "1;2;0,5,1\n2;3;4", ":2: a weight must be a number, found '0,5,1'"),
]


@pytest.mark.parametrize(("name", "old", "new", "message"), BAD)
def test_bad_files(tmp_path, name, old, new, message):
    assert old in FILES[name]
    path = tmp_path / name
    path.write_text(FILES[name].replace(old, new, 1))
    assert refusal(read_graph, str(path)).removeprefix(str(path)).startswith(message)


BAD_COORDINATES = [
    ("v 3 1 1\n", "", ":1: the header says 3 vertices, but the file has 2; it may be truncated"),
    ("v 3 1 1", "v 1 1 1", ":4: vertex 1 is given twice"),
    ("v 3 1 1", "v 4 1 1", ":4: vertex 4 is not a whole number from 1 to 3"),
    ("v 3 1 1", "v 3 1", ":4: expected v, a vertex, an x, a y, found 'v 3 1'"),
    ("v 3 1 1", "v 3 1e999 1", ":4: a coordinate is too large"),
    ("v 3 1 1", "\xa0\nv 3 1 1", ":4: neither a comment (c) nor a vertex (v): '\\xa0'"),
    ("v 3 1 1", "v 3 1 nan", ":4: a y must be a number, found 'nan'"),
    ("co 3\n", "co 4\nv 4 0 0\n", ":1: has coordinates of 4 vertices; the graph t has 3"),
    ("p aux sp co 3", "p sp 3 3", ":1: expected `p aux sp co VERTICES`, found 'p sp 3 3'"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD_COORDINATES)
def test_bad_coordinates(tmp_path, old, new, message):
    (tmp_path / "t.gr").write_text(GR)
    path = tmp_path / "t.co"
    path.write_text(CO)
    assert read_graph(tmp_path / "t.gr", path).problem.coordinates.tolist() == [[0, 0], [5, -1], [1, 1]]
    path.write_text(CO.replace(old, new, 1))
    assert refusal(read_graph, str(tmp_path / "t.gr"), str(path)).removeprefix(str(path)).startswith(message)


def zipped(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def promising(count):
    """Return a matrix whose column indices have a header that promises `count` of them."""
    file = io.BytesIO()
    np.save(file, np.zeros(2, dtype=np.int64))
    member = file.getvalue().replace(b"(2,), }" + b" " * len(str(count)), f"({count},), }}".encode() + b" ")
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in CSR.items():
            file = io.BytesIO()
            np.save(file, array)
            archive.writestr(f"{name}.npy", member if name == "indices" else file.getvalue())
    return content.getvalue()


CSR = {"format": np.array(b"csr"), "shape": np.array([2, 2]), "data": np.array([1, 2]), "indices": np.array([1, 0]),
       "indptr": np.array([0, 1, 2])}
BAD_NPZ = {
    "no zip": (b"PK\x03\x04" + bytes(100), ": is a damaged zip file"),
    "other arrays": (zipped(a=np.eye(2)), ": has no array 'format'"),
    "dia": (zipped(**CSR | {"format": np.array(b"dia")}), ": the sparse format is 'dia'; save csr, csc or coo"),
    "not square": (zipped(**CSR | {"shape": np.array([2, 3])}), ": the matrix has shape (2, 3)"),
    "out of range": (zipped(**CSR | {"indices": np.array([1, 2])}), ": entry 1: vertex 2 is out of range 0 to 1"),
    "below range": (zipped(**CSR | {"indices": np.array([-1, 1])}), ": entry 0: vertex -1 is out of range 0 to 1"),
    "offsets fall": (zipped(**CSR | {"indptr": np.array([0, 3, 2])}), ": indptr does not divide 2 entries into 2 rows"),
    "offsets end": (zipped(**CSR | {"indptr": np.array([0, 1, 9])}), ": indptr does not divide 2 entries into 2 rows"),
    "trillion": (zipped(**CSR | {"shape": np.array([10**12] * 2)}), ": the header says 1000000000000 vertices"),
    "long list": (promising(10**12), ": indices.npy: the header says 8000000000000 bytes"),
    "negative": (zipped(**CSR | {"data": np.array([1, -2])}), ": the weight of entry 1 is negative: -2"),
    "NaN": (zipped(**CSR | {"data": np.array([np.nan, 2])}), ": the weight of entry 0 is NaN; give a number"),
    "text": (zipped(**CSR | {"data": np.array(["a", "b"])}), ": data.npy: holds <U1; it must hold integers or floats"),
    "short": (zipped(**CSR | {"data": np.array([1])}), ": indices and data have shapes"),
}


@pytest.mark.parametrize("name", BAD_NPZ)
def test_bad_npz(tmp_path, name):
    path = tmp_path / "t.npz"
    path.write_bytes(zipped(**CSR))
    assert read_graph(path).problem.weights.tolist() == [1, 2]
    path.write_bytes(BAD_NPZ[name][0])
    assert refusal(read_graph, str(path)).removeprefix(str(path)).startswith(BAD_NPZ[name][1])


@pytest.mark.parametrize(("content", "message"), [
    (b"", ": is empty"),
    (b"<html>\n<body>404", ":1: the format is not known; hpcsolve reads scipy sparse matrix (.npz), Matrix Mar"),
    (b"BZh9", ": is compressed with bzip2"),
    (b"\x89HDF\r\n", ": is an HDF5 file"),
    (b"\x93NUMPY", ": is a travelling salesman problem (numpy matrix), not a graph"),
    (gzip.compress(GR.encode(), mtime=0)[:40], ": is damaged and cannot be decompressed"),
    (b"NAME: x\n", ":1: is a travelling salesman problem (TSPLIB), not a graph"),
    (CO.encode(), ":1: expected `p sp VERTICES ARCS`, found 'p aux sp co 3'"),
])
def test_other_files(tmp_path, content, message):
    (tmp_path / "t").write_bytes(content)
    assert refusal(read_graph, str(tmp_path / "t")).removeprefix(str(tmp_path / "t")).startswith(message)
    assert "cannot be read" in refusal(read_graph, str(tmp_path / "none.gr"))
