"""All formats that hpcsolve knows, one record each, in the order in which they are tried on a file.

A new format is a new file and a record here. Messages and the table in docs/jobs.md are made from these records.
"""

from __future__ import annotations

from hpcsolve.formats import Format, dimacs, edge_list, networkx_files, npy
from hpcsolve.formats.geojson import looks_like_geojson, read_geojson
from hpcsolve.formats.geojson_points import looks_like_points, read_points
from hpcsolve.formats.matrix_market import looks_like_matrix_market, read_matrix_market, write_matrix_market
from hpcsolve.formats.metis import read_metis, write_metis
from hpcsolve.formats.pace import looks_like_pace, read_pace
from hpcsolve.formats.places import looks_like_places, read_places, write_places
from hpcsolve.formats.steinlib import looks_like_steinlib, read_steinlib, write_steinlib
from hpcsolve.formats.table_answer import looks_like_table_answer, read_table_answer
from hpcsolve.formats.text_matrix import looks_like_text_matrix, read_text_matrix, write_text_matrix
from hpcsolve.formats.tsplib import looks_like_tsplib, read_tsplib
from hpcsolve.formats.tsplib_write import write_tsplib
from hpcsolve.formats.tsptw import looks_like_tsptw, read_tsptw
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.tsp import Tsp

TSP_FORMATS: tuple[Format[Tsp], ...] = (
    Format(
        "tsplib", "TSPLIB", (".tsp", ".atsp", ".tour", ".sop", ".hcp", ".vrp"),
        "begins with a keyword of TSPLIB, `NAME : gr17`; TSP, ATSP, SOP and TSPTW are read, others (HCP, CVRP, tours) "
        "are refused",
        directed="ATSP, SOP and TSPTW: from row to column; TSP: both ways",
        read=read_tsplib, signature=looks_like_tsplib, write=write_tsplib, growth=2,
    ),
    Format(
        "npy", "numpy matrix", (".npy",), "a square array that `numpy.save` wrote", directed="from row to column",
        read=npy.read_npy, signature=npy.is_npy, write=npy.write_npy, binary=True, growth=1,
    ),
    Format(
        "tsptw", "TSPTW", (".tw",),
        "the number of cities, the matrix of travelling times, then `earliest latest` of each city; with time windows",
        directed="from row to column",
        read=read_tsptw, signature=looks_like_tsptw,
    ),
    Format(
        "text matrix", "table of numbers", (".csv", ".tsv"),
        "numbers separated by commas, semicolons, tabs or blanks, perhaps names or labels above and on the left",
        directed="from row to column",
        read=read_text_matrix, resembles=looks_like_text_matrix, write=write_text_matrix,
    ),
    Format(
        "places", "places", (".csv", ".tsv"),
        "a header such as `name,lat,lon`, then a place on each line, in decimal degrees; distances in metres",
        directed="both ways",
        read=read_places, signature=looks_like_places, write=write_places, accepts=("speed",), growth=4,
    ),
    Format(
        "geojson points", "GeoJSON points", (".geojson", ".json"),
        "Point features and no lines; names are their property `name`; distances in metres",
        directed="both ways",
        read=read_points, signature=looks_like_points, accepts=("speed",),
    ),
    Format(
        "table answer", "answer of a routing service", (".json",),
        "JSON with `durations` or `distances`, or `sources_to_targets`, as OSRM, openrouteservice and Valhalla answer; "
        "`weight` names one of the two",
        directed="from row to column",
        read=read_table_answer, signature=looks_like_table_answer, accepts=("weight",), growth=40,
    ),
)

GRAPH_FORMATS: tuple[Format[Graph], ...] = (
    Format(
        "npz", "scipy sparse matrix", (".npz",), "a zip file of arrays that `scipy.sparse.save_npz` wrote",
        directed="yes: entry (u, v) is an arc from u to v",
        read=npy.read_sparse_npz, signature=npy.is_zip, binary=True,
    ),
    Format(
        "matrix market", "Matrix Market", (".mtx",), "begins with `%%MatrixMarket matrix coordinate`",
        directed="`general`: yes; `symmetric`: no",
        read=read_matrix_market, signature=looks_like_matrix_market, write=write_matrix_market,
    ),
    Format(
        "dimacs", "DIMACS", (".gr",), "a line `p sp VERTICES ARCS`, then lines `a TAIL HEAD WEIGHT`", directed="yes",
        read=dimacs.read_dimacs, signature=dimacs.looks_like_dimacs, write=dimacs.write_dimacs,
    ),
    Format(
        "steinlib", "SteinLib", (".stp",), "begins with `33D32945 STP File`; with terminals", directed="no",
        read=read_steinlib, signature=looks_like_steinlib, write=write_steinlib,
    ),
    Format(
        "pace", "PACE", (".gr",), "begins with `SECTION Graph`, or has a line `p tw VERTICES EDGES`", directed="no",
        read=read_pace, signature=looks_like_pace,
    ),
    Format(
        "graphml", "GraphML", (".graphml",), "XML with `<graphml`; needs networkx",
        directed="as `edgedefault` says",
        read=networkx_files.read_graphml, signature=networkx_files.looks_like_graphml,
        write=networkx_files.write_graphml, accepts=("weight",), growth=27,
    ),
    Format(
        "gml", "GML", (".gml",), "begins with `graph [`; needs networkx",
        directed="as `directed` says; without it not stated",
        read=networkx_files.read_gml, signature=networkx_files.looks_like_gml, write=networkx_files.write_gml,
        accepts=("weight",), growth=22,
    ),
    Format(
        "geojson", "GeoJSON", (".geojson", ".json"),
        "LineString features; weights are lengths in metres, or the property that `weight` names",
        directed="not stated",
        read=read_geojson, signature=looks_like_geojson, accepts=("weight",),
    ),
    Format(
        "node-link", "node-link JSON", (".json",), "what `networkx.node_link_data` gives; needs networkx",
        directed="as `directed` says; without it not stated",
        read=networkx_files.read_node_link, signature=networkx_files.looks_like_node_link,
        write=networkx_files.write_node_link, accepts=("weight",), growth=15,
    ),
    Format(
        "metis", "METIS", (".graph", ".metis"), "known by its suffix alone: the neighbours of each vertex",
        directed="no",
        read=read_metis, write=write_metis,
    ),
    Format(
        "edge list", "edge list", (".edges", ".csv", ".tsv"),
        "two vertices (numbers or names) and perhaps a weight on each line, separated by blanks, commas, semicolons or "
        "tabs",
        directed="as a comment `# Directed graph` or `# Undirected graph` says; without it not stated",
        read=edge_list.read_edge_list, signature=edge_list.has_edge_titles, resembles=edge_list.looks_like_edge_list,
        write=edge_list.write_edge_list, accepts=("weight",),
    ),
)
