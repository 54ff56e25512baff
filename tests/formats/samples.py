"""Small valid files of every format, each with the function that reads it, for tests that read or damage them."""

from __future__ import annotations

import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from hpcsolve.formats import read, read_graph, read_tour
from hpcsolve.formats.files import open_file
from hpcsolve.formats.order_files import read_windows
from hpcsolve.formats.vertex_lists import read_queries, read_vertices
from hpcsolve.job import load_job
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.tsp import Tsp
from hpcsolve.sweep import expand

LATTICE = from_edges([0, 1, 2, 3], [1, 2, 3, 4], n=5, directed=False, labels=[1, 2, 3, 4, 5], name="lattice")

GRAPHML = """\
<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="x" attr.type="double"/>
<key id="d1" for="node" attr.name="y" attr.type="double"/>
<key id="d2" for="edge" attr.name="weight" attr.type="double"/>
<graph edgedefault="directed">
<node id="Inn"><data key="d0">1</data><data key="d1">2.5</data></node>
<node id="Mill"><data key="d0">3</data><data key="d1">4</data></node>
<node id="Well"><data key="d0">5</data><data key="d1">6</data></node>
<edge source="Inn" target="Mill"><data key="d2">5</data></edge>
<edge source="Mill" target="Well"><data key="d2">4.5</data></edge>
</graph>
</graphml>
"""
GML = """\
Creator "by hand"
graph [
  directed 1
  node [ id 7 label "Inn" ]
  node [ id 8 label "Mill" ]
  node [ id 9 label "Well" ]
  edge [ source 7 target 8 weight 5 ]
  edge [ source 8 target 9 weight 4.5 ]
]
"""
NODE_LINK = """\
{"directed": true, "multigraph": false, "graph": {},
"nodes": [{"id": "Inn", "lat": 48.2, "lon": 16.3}, {"id": "Mill", "lat": 48.3, "lon": 16.4},
{"id": "Well", "lat": 48.4, "lon": 16.5}],
"links": [{"weight": 5, "source": "Inn", "target": "Mill"},
{"weight": 4.5, "source": "Mill", "target": "Well"}]}
"""
GEOJSON = """\
{"type": "FeatureCollection", "features": [
{"type": "Feature", "properties": {"name": "A2", "km": 2.5},
"geometry": {"type": "LineString", "coordinates": [[16.37, 48.21], [16.38, 48.22], [16.4, 48.2, 170]]}},
{"type": "Feature", "properties": null,
"geometry": {"type": "Point", "coordinates": [16.5, 48.5]}},
{"type": "Feature", "properties": {"km": 1.5},
"geometry": {"type": "MultiLineString", "coordinates": [[[16.4, 48.2], [16.37, 48.21]]]}}
]}
"""


@dataclass(frozen=True)
class Sample:
    """A valid file.

    Attributes
    ----------
    format
        The `Instance.format` that it is read as. For files that are no instances, what they are: "tour", "queries".
    file
        A file name, whose suffix matters where formats are told apart by it.
    reader
        Function that reads the file at a path.
    beside
        Content of a file `beside.gr` in the same folder, which the reader needs, or empty.
    has_lines
        Whether a refusal names a line if the content is text.
    """

    format: str
    file: str
    content: bytes
    reader: Callable[[str], Any]
    beside: bytes = b""
    has_lines: bool = True

    @property
    def name(self) -> str:
        """The name of the sample in the id of a test."""
        return f"{self.format} {self.file}"


def samples() -> list[Sample]:
    """Return all samples."""
    return [*_tsp_samples(), *_graph_samples(), *_beside_graphs(), *_jobs(), *_compressed()]


def published(data: Path) -> Iterator[Sample]:
    """Yield small published files from the folder that HPCSOLVE_DATA names."""
    for name in ("burma14.tsp", "gr17.tsp", "bayg29.tsp", "br17.atsp", "eil51.tsp", "d198.tsp"):
        yield Sample("tsplib", name, (data / "tsplib" / name).read_bytes(), read)
    yield Sample("tour", "eil51.opt.tour", (data / "tsplib" / "eil51.opt.tour").read_bytes(), read_tour)
    for name in ("b01.stp", "berlin52.stp"):
        yield Sample("steinlib", name, (data / "steiner" / name).read_bytes(), read_graph)
    yield Sample("pace", "pace1_001.gr", (data / "steiner" / "pace1_001.gr").read_bytes(), read_graph)


def _tsp_samples() -> list[Sample]:
    head = "NAME: t\nCOMMENT: a triangle\nTYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: "
    cities = "\n1 0 0\n2 3 0\n3 0 4\n"
    full = f"{head}EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n0 1 2\n1 0 3.5\n2 3.5 0\nEOF\n"
    upper = f"{head}EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n1 2\n3\n"
    texts = {
        "plane.tsp": f"{head}EUC_2D\nNODE_COORD_SECTION{cities}EOF\n",
        "globe.tsp": f"{head}GEO\nNODE_COORD_SECTION\n1 38.24 20.42\n2 39.57 26.15\n3 40.56 25.32\nEOF\n",
        "full.atsp": full.replace("TYPE: TSP", "TYPE: ATSP"),
        "full.tsp": full,
        "upper.tsp": f"{upper}DISPLAY_DATA_SECTION{cities}EOF\n",
        "windows.tsp": full.replace("TYPE: TSP", "SERVICE_TIME: 2\nTYPE: TSPTW").replace(
            "EOF", "TIME_WINDOW_SECTION\n1 0 40\n2 3 9.5\n3 0 inf\n-1\nDEPOT_SECTION\n1\n-1\nEOF"),
        "services.tsp": full.replace("TYPE: TSP", "TYPE: TSPTW").replace(
            "EOF", "SERVICE_TIME_SECTION\n1 0\n2 1.25\nTIME_WINDOW_SECTION\n1 0 40\n2 3 9.5\n3 0 20\n"),
    }
    tables = {
        "commas.csv": "0,1.5,2\n3,0,4\n5,,0\n",
        "integers.csv": "# by hand\n0,1,2\n3,0,4\n5,6,0\n",
        "semicolons.txt": "0;1;2\n3;0;4\n5;6;0\n",
        "decimal-commas.csv": ";Oslo;Rome;Bonn\nOslo;0;1,5;2\nRome;3;0;4\nBonn;5,25;;0\n",
        "blanks.txt": "0 1 2\n3 0 4\n5 inf 0\n",
        "names.csv": ",Oslo,Rome,Bonn\nOslo,0,1.5,2\nRome,3,0,4\nBonn,5,,0\n",
        "quotes.csv": '"Oslo","Rome","Bonn"\n"0","1.5","2"\n3,0,4\n5,"",0\n',
    }
    windows = {
        "whole.tw": "3\n0 1 2\n3 0 4\n5 6 0\n0 99\n2 8\n7 20\n# by hand\n",
        "decimals.txt": "# three\n 3\n0.0 1.5 2\n\n3 10 4.25\n5 6 0\n0 99\n2.125 8\n7 20 # late\n",
    }
    places = {
        "places.csv": "name,lat,lon\nWien,48.21,16.37\nGraz,47.07,15.44\nLinz,48.31,14.29\n",
        "addresses.tsv": 'Id\tAddress\tLng (deg)\tLat (deg)\n7\t"1, High St"\t-0.1\t51.5\n8\tQuai 5\t2.35\t48.86\n'
                         "9\tRing 1\t16.37\t-48.21\n",
        "orte.csv": "name;lat;lon\nWien;48,21;16,37\nGraz;47;15,44\nLinz;48,31;14,29\n",
    }
    places_of_json = {"Inn": [16.4, 48.2], "Mill": [16, 48, 9], "Well": [15, 47.5]}
    features = [f'{{"type": "Feature", "properties": {{"name": "{name}"}},\n"geometry": {{"type": "Point", '
                f'"coordinates": {place}}}}}' for name, place in places_of_json.items()]
    points = f'{{"type": "FeatureCollection", "features": [\n{", ".join(features)}\n]}}\n'
    arrays = {
        "integers.npy": np.arange(16).reshape(4, 4),
        "floats.npy": np.arange(16).reshape(4, 4).T / 4,
    }
    tour = "NAME: t\nTYPE: TOUR\nDIMENSION: 3\nTOUR_SECTION\n3\n1\n2\n-1\nEOF\n"
    return [
        *(Sample("tsplib", file, text.encode(), read) for file, text in texts.items()),
        *(Sample("text matrix", file, text.encode(), read) for file, text in tables.items()),
        *(Sample("tsptw", file, text.encode(), read) for file, text in windows.items()),
        *(Sample("places", file, text.encode(), read) for file, text in places.items()),
        Sample("table answer", "t.json", b'{"code": "Ok",\n"durations": [[0, 1.5, 2], [3, 0, null], [5, 6, 0]]}', read),
        Sample("geojson points", "points.geojson", points.encode(), read),
        *(Sample("npy", file, _saved(array), read) for file, array in arrays.items()),
        Sample("tour", "t.tour", tour.encode(), read_tour),
    ]


def _graph_samples() -> list[Sample]:
    steinlib = (
        "33D32945 STP File, STP Format Version 1.0\n\nSECTION Comment\nName \"t\"\nEND\n\nSECTION Graph\nNodes 3\n"
        "Edges 2\nE 1 2 5\nE 2 3 4\nEND\n\nSECTION Terminals\nTerminals 2\nT 1\nT 2\nEND\n\nSECTION Coordinates\n"
        "DD 1 0 0\nDD 2 1 1\nDD 3 2 2\nEND\n\nEOF\n"
    )
    pace = steinlib[steinlib.index("SECTION Graph") : steinlib.index("SECTION Coordinates")] + "EOF\n"
    texts = [
        ("dimacs", "t.gr", "c x\np sp 3 3\na 1 2 5\na 2 3 4\na 3 1 9\n"),
        ("dimacs", "decimals", "c\np sp 3 2\na 1 2 5.5\nc in between\na 2 3 4e0\n"),
        ("steinlib", "t.stp", steinlib),
        ("pace", "steiner.gr", pace),
        ("pace", "tw.gr", "c x\np tw 3 2\n1 2\n2 3\n"),
        ("matrix market", "t.mtx", "%%MatrixMarket matrix coordinate real general\n% x\n3 3 2\n1 2 5\n2 3 4.5\n"),
        ("matrix market", "pattern.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"),
        ("metis", "t.graph", "% x\n3 2 1\n2 5\n1 5 3 4\n2 4\n"),
        ("metis", "sizes.metis", "3 3 111 2\n7 1 1 2 5 3 9\n%b\n7 1 1 1 5 3 4\n7 1 1 2 4 1 9\n"),
        ("edge list", "t.edges", "# x\n1 2 5\n2 3 4\n"),
        ("edge list", "t.csv", "from,to,km\n1,2,5\n2,3,4\n3,1,9\n"),
        ("graphml", "t.graphml", GRAPHML),
        ("gml", "t.gml", GML),
        ("node-link", "nodes.json", NODE_LINK),
        ("geojson", "lines.geojson", GEOJSON),
        ("edge list", "names.txt", "Vienna,Graz,191\nGraz,St. Anton,475.5\n"),
        ("edge list", "titles.csv", "id;u;v;oneway;length\n7;1;2;no;5\n8;2;3;yes;4.5\n"),
        ("edge list", "decimal-commas.csv", "u;v;km\n1;2;5,25\n2;3;4\n"),
        ("edge list", "snap.txt", "# Directed graph: t.txt\n# FromNodeId ToNodeId\n1\t2\n2\t3\n"),
    ]
    matrix = scipy.sparse.coo_matrix(([5, 3, 9], ([0, 0, 1], [1, 2, 0])), shape=(3, 3))
    return [
        *(Sample(name, file, text.encode(), read_graph) for name, file, text in texts),
        *(Sample("npz", f"{kind}.npz", _sparse(matrix.asformat(kind)), read_graph) for kind in ("csr", "csc", "coo")),
    ]


def _beside_graphs() -> list[Sample]:
    graph = b"p sp 3 3\na 1 2 5\na 2 3 4\na 3 1 9\n"
    points = b"p aux sp co 3\nv 1 0 0\nv 2 5 -1\nv 3 1 1\n"
    texts = {
        "pairs.txt": "# from to\n1 2\n4 5\n",
        "pairs.p2p": "c pairs\np aux sp p2p 2\nq 1 2\nq 4 5\n",
    }
    tables = {
        "times.csv": "city,earliest,latest,service\n1,2,9.5,\n2,,20,1\n0,0,,0.5\n",
        "decimal-commas.csv": "city;earliest;latest;service\n1;2;9,5;\n2;;20;1,5\n",
        "clock.csv": "City;Earliest;Latest\n2;08:00;9:30:30\n0;7:15;\n",
    }
    return [
        Sample("coordinates", "t.co", points, lambda path: read_graph(Path(path).parent / "beside.gr", path), graph),
        *(Sample("windows", file, text.encode(), _windows) for file, text in tables.items()),
        *(Sample("queries", file, text.encode(), _found(read_queries)) for file, text in texts.items()),
        Sample("terminals", "houses.txt", b"# houses\n4\nc more\n1\n", _found(read_vertices)),
    ]


def _windows(path: str) -> Any:
    """Read the time windows of three cities, whose costs are in minutes with a decimal."""
    cities = Tsp("three", np.array([[0, 10, 20], [30, 0, 40], [50, 60, 0]]), np.arange(3), 10)
    return read_windows(open_file(path), cities, "minute")


def _found(reader: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a function that reads vertices and looks for them in a graph, as a job does."""
    return lambda path: reader(path).positions(LATTICE)


def _jobs() -> list[Sample]:
    texts = {
        "tsp.toml": 'algorithm = "ant-colony"\ninstance = { generate = "uniform-tsp", n = 24, seed = 1 }\nseed = 3\n\n'
                    "[ant-colony]\nants = 16\nbeta = 2.5\n\n[stop]\nseconds = 2.0\niterations = 10\n",
        "graph.toml": '# a comment\nalgorithm = "shortest-paths"\ninstance = "city.gr"\noutput = "city.h5"\n'
                      'device = "cpu"\nthreads = 2\n\n[shortest-paths]\nsources = [1, 2, 3]\ncutoff = 5.5\n',
        "tree.toml": 'algorithm = "steiner-kmb"\ninstance = { file = "t.stp", terminals = [1, 2] }\n',
    }
    sweeps = {
        "sizes.toml": 'algorithm = "held-karp"\ninstance = { generate = "random-matrix", n = [5, 7] }\nseed = "1..3"\n',
        "rules.toml": 'algorithm = "ant-colony"\ninstance = "city.tsp"\noutput = "rules"\n\n[ant-colony]\n'
                      "ants = [8, 16]\nbeta = [2, 2.5]\n\n[stop]\niterations = 10\n",
    }
    return [
        *(Sample("job", file, text.encode(), load_job) for file, text in texts.items()),
        *(Sample("sweep", file, text.encode(), expand) for file, text in sweeps.items()),
    ]


def _compressed() -> list[Sample]:
    texts = {sample.file: sample for sample in (*_tsp_samples(), *_graph_samples())}
    return [
        Sample("tsplib", "plane.tsp.gz", gzip.compress(texts["plane.tsp"].content, mtime=0), read),
        Sample("dimacs", "t.gr.xz", lzma.compress(texts["t.gr"].content), read_graph),
    ]


def _saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _sparse(matrix: Any) -> bytes:
    file = io.BytesIO()
    scipy.sparse.save_npz(file, matrix)
    return file.getvalue()
