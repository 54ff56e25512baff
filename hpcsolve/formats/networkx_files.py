"""GraphML, GML and node-link JSON, the only formats that need networkx.

Attributes of nodes are taken for coordinates (`hpcsolve.problems.libraries.node_places`), and nodes whose attribute
`terminal` is true are terminals. GML and node-link JSON need not say whether a graph is directed. If a file does not
say so, networkx is told that the graph is directed, since it forgets the order of the ends of undirected edges, and the
arcs that it returns become edges.
"""

from __future__ import annotations

import io
import json
import re
import warnings
import xml.etree.ElementTree as xml
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile, decode, write_text
from hpcsolve.formats.geojson import looks_like_geojson
from hpcsolve.formats.records import NUMBER, require_undirected
from hpcsolve.problems.geographic import DEGREES
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.libraries import edge_data_of, from_networkx, to_networkx
from hpcsolve.wording import visible

_GML = re.compile(rb'\s*(?:#[^\n]*\s+|(?i:creator|comment)\s+"[^"]*"\s*|(?i:version)\s+\S+\s+)*(?i:graph)\s*\[')
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_DEFINITIONS = re.compile(r"<!(?:DOCTYPE|ENTITY)", re.I)
_NODE = re.compile(r"<(?:\w+:)?node[\s/>]")
_GRAPH = re.compile(r"<(?:\w+:)?graph[\s/>][^>]*")
_GML_GRAPH = re.compile(r"(?i)\bgraph\s*\[")
_GML_DIRECTED = re.compile(r"(?i)\bdirected\s+\d")
_COMMENT = re.compile(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>", re.S)
WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,17})", re.ASCII)
"""Whole numbers. If all nodes are named like this, these are their labels."""
_WHOLE_LIST = re.compile(rf"{WHOLE.pattern}|\[{WHOLE.pattern}(?:, ?{WHOLE.pattern})*\]", re.ASCII)
_TRUE = (True, 1, "1", "true", "True")


def looks_like_graphml(content: bytes) -> bool:
    """Return whether the file begins with XML whose first element is `graphml`."""
    return content.lstrip().startswith(b"<") and b"<graphml" in content[:4096]


def looks_like_gml(content: bytes) -> bool:
    """Return whether the file begins with `graph [`, perhaps after its creator and version."""
    return _GML.match(content[:4096]) is not None


def looks_like_node_link(content: bytes) -> bool:
    """Return whether the file is a JSON object with nodes, and with links or edges."""
    if not content.lstrip().startswith(b"{") or looks_like_geojson(content):
        return False
    return b'"nodes"' in content and (b'"links"' in content or b'"edges"' in content)


def read_graphml(file: InputFile, directed: bool | None = None, weight: str | None = None) -> Graph:
    """Return the graph of a GraphML file. Raises `InputError` with file and line."""
    text = _DECLARATION.sub("", decode(file.content), count=1)
    definition = _DEFINITIONS.search(text)
    if definition is not None:  # entities may expand without end, or name other files
        raise file.error(f"{definition[0]} is not read, since GraphML needs no definitions; remove it", file.first_line)

    plain = _COMMENT.sub("", text)
    graph = _GRAPH.search(plain)
    if graph is not None and "edgedefault" not in graph[0]:
        cure = 'write <graph edgedefault="directed"> or <graph edgedefault="undirected">'
        raise file.error(f"the graph does not say whether it is directed; {cure}", file.first_line)

    def parse(networkx: ModuleType) -> Any:
        graph = networkx.read_graphml(io.BytesIO(text.encode()))
        nodes = len(_NODE.findall(plain))
        if len(graph) > nodes:  # networkx adds a node for every end of an edge
            raise file.error("an edge leads to a node that the file does not define", file.first_line)
        if len(graph) < nodes:
            message = "a node is defined twice, or inside another one, or in another graph of the file"
            raise file.error(message, file.first_line)
        return graph

    return _read(file, parse, weight, asked=directed, stated=True)


def read_gml(file: InputFile, directed: bool | None = None, weight: str | None = None) -> Graph:
    """Return the graph of a GML file. Nodes have their `label` as name if all labels differ, else their `id`.

    Raises
    ------
    InputError
        With file and line.
    """
    text = decode(file.content)
    stated = _GML_DIRECTED.search(text) is not None
    lines = (text if stated else _GML_GRAPH.sub("graph [ directed 1 ", text, count=1)).split("\n")

    def parse(networkx: ModuleType) -> Any:
        try:
            return networkx.parse_gml(lines, label="label")
        except networkx.NetworkXError as problem:
            if "label" not in str(problem):
                raise
            return networkx.parse_gml(lines, label="id")

    return _read(file, parse, weight, asked=directed, stated=stated)


def read_node_link(file: InputFile, directed: bool | None = None, weight: str | None = None) -> Graph:
    """Return the graph of what `networkx.node_link_data` gives, as JSON. Raises `InputError` with file and line."""
    content = file.json()

    def build(networkx: ModuleType) -> Any:
        if not isinstance(arcs := content.get("directed", True), bool):
            raise file.error(f"directed is {content['directed']!r}, which must be true or false", file.first_line)
        if content.get("links") and content.get("edges"):
            raise file.error("there are both links and edges; keep one of them", file.first_line)
        graph, keyed = networkx.MultiDiGraph() if arcs else networkx.MultiGraph(), bool(content.get("multigraph"))
        graph.graph.update(dict(content.get("graph") or {}))
        for node in content["nodes"]:
            if _hashable(node["id"]) in graph:
                raise file.error(f"the node {node['id']!r} is there twice", file.first_line)
            graph.add_node(_hashable(node["id"]), **{key: value for key, value in node.items() if key != "id"})
        for edge in content.get("links") or content.get("edges") or ():
            ends = [_hashable(edge[key]) for key in ("source", "target")]
            for end in ends:
                if end not in graph:
                    raise file.error(f"an edge leads to {end!r}, which is not among the nodes", file.first_line)
            key = _hashable(edge.get("key")) if keyed else None
            key = None if graph.has_edge(*ends, key) else key  # a number of its own: no edge is lost
            attributes = {name: value for name, value in edge.items() if name not in ("key", "source", "target")}
            graph.add_edges_from([(*ends, key, attributes)] if key is not None else [(*ends, attributes)])
        plain = None if keyed else networkx.DiGraph(graph) if arcs else networkx.Graph(graph)
        return graph if plain is None or plain.size() < graph.size() else plain

    return _read(file, build, weight, asked=directed, stated="directed" in content)


def _hashable(node: Any) -> Any:
    """Return a node with tuples in place of lists, which JSON makes of tuples."""
    return tuple(map(_hashable, node)) if isinstance(node, list) else node


def _read(
    file: InputFile, parse: Callable[[ModuleType], Any], weight: str | None, *, asked: bool | None, stated: bool
) -> Graph:
    """Return the graph that a parser makes of a file.

    `asked` is whether it is directed by the job, `stated` whether the file itself says if it is.
    """
    networkx = require_networkx("reading this format", file.name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = parse(networkx)
    except xml.ParseError as problem:
        raise file.error(f"is not XML: {str(problem).split(':')[0]}", problem.position[0]) from None
    except InputError:
        raise
    except Exception as problem:  # noqa: BLE001 (networkx raises whatever its parsers meet)
        what = " ".join(str(problem).split())[:200]
        line = re.search(r"line (\d+)", what)
        number = int(line[1]) if line else file.first_line
        raise file.error(f"cannot be read (networkx: {type(problem).__name__}: {what})", number) from None
    if isinstance(found, list):
        raise file.error("holds several graphs; give a file with one", file.first_line)
    return _converted(file, networkx, found, weight, asked, stated)


def require_networkx(purpose: str, name: str | None = None) -> ModuleType:
    """Return networkx, which is loaded only where it is needed. Raises `InputError` if it is not installed."""
    try:
        import networkx
    except ImportError:
        raise InputError(f"{purpose} needs networkx: pip install networkx", name) from None
    module: ModuleType = networkx
    return module


def _converted(
    file: InputFile, networkx: ModuleType, found: Any, weight: str | None, asked: bool | None, stated: bool
) -> Graph:
    """Return a graph of networkx as ours, with the coordinates and terminals that are attributes of its nodes."""
    if not found.is_directed():
        require_undirected(file, asked)
    for key, rows in (("edge_default", found.edges(data=True)), ("node_default", found.nodes(data=True))):
        default = found.graph.get(key)  # of GraphML, which networkx leaves aside
        for *_, attributes in rows if isinstance(default, dict) else ():
            attributes.update({**default, **attributes})
    if all(isinstance(node, str) and WHOLE.fullmatch(node) for node in found.nodes):
        found = networkx.relabel_nodes(found, {node: int(node) for node in found.nodes})
    # As the file has it, numbers as texts too.
    edge_data = [(key, _with_whole_ids(data)) for key, data in edge_data_of(found)]
    for attributes in (data for *_, data in (*found.edges(data=True), *found.nodes(data=True))):
        attributes.update({key: _numbers(value) for key, value in attributes.items()})
    try:
        graph = from_networkx(found, "weight" if weight is None else weight, directed=asked, name=file.name, file=True,
                              stated=stated, edge_data=edge_data)
        if len(set(graph.labels.tolist())) < graph.n:
            raise InputError("two nodes have the same number", file.name)
    except (InputError, OverflowError) as error:
        raise file.error(" ".join(str(error).removeprefix(f"{file.name}: ").split()), file.first_line) from None
    terminals = [index for index, (_, data) in enumerate(found.nodes(data=True)) if data.get("terminal") in _TRUE]
    return replace(
        graph, name=file.stem or "graph", terminals=np.array(terminals, dtype=np.int64) if terminals else None
    )


def _with_whole_ids(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of an edge with whole numbers as its `osmid`, which OSMnx writes into GraphML as text."""
    text = attributes.get("osmid")
    if not isinstance(text, str) or not _WHOLE_LIST.fullmatch(text):
        return dict(attributes)
    return {**attributes, "osmid": json.loads(text)}


def _numbers(value: Any) -> Any:
    """Return the number that a text stands for, those of a list, or the value unchanged."""
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    if not isinstance(value, str) or len(value) >= 400 or not NUMBER.fullmatch(value):
        return value
    return int(value) if WHOLE.fullmatch(value) else float(value)


def write_graphml(graph: Graph, path: str) -> None:
    """Write GraphML.

    Raises
    ------
    InputError
        networkx is not installed, two vertices have the same name, or all names are numbers.
    EnvironmentFault
        The file cannot be written.
    """
    lines = require_networkx("writing GraphML").generate_graphml(_with_attributes(graph, "GraphML"))
    write_text("\n".join(lines) + "\n", path)


def write_gml(graph: Graph, path: str) -> None:
    """Write GML, where names and labels are the `label` of nodes. Raises as `write_graphml`."""
    lines = require_networkx("writing GML").generate_gml(_with_attributes(graph, "GML"))
    write_text("\n".join(lines) + "\n", path)


def write_node_link(graph: Graph, path: str) -> None:
    """Write JSON as `networkx.node_link_data` gives it, its edges as `links`. Raises as `write_graphml`."""
    result = _with_attributes(graph, "node-link JSON")
    content = {
        "directed": graph.directed, "multigraph": False, "graph": {},
        "nodes": [{**data, "id": node} for node, data in result.nodes(data=True)],
        "links": [{**data, "source": tail, "target": head} for tail, head, data in result.edges(data=True)],
    }
    write_text(visible(json.dumps(content, ensure_ascii=False, indent=1)) + "\n", path)


def _with_attributes(graph: Graph, title: str) -> Any:
    """Return the graph as one of networkx. Raises `InputError` as `write_graphml`, with the title of the format."""
    names = graph.vertex_names
    if len(set(names)) < len(names) or (names and all(map(WHOLE.fullmatch, names))):
        what = f"two vertices have the same name, or all names are numbers, which {title} cannot express"
        raise InputError(f"{what}; rename vertices", graph.name)
    result = to_networkx(graph)
    axes = ("lat", "lon") if graph.coordinates_kind == DEGREES else ("x", "y", "z")
    nodes = list(result.nodes)
    for node, place in zip(nodes, () if graph.coordinates is None else graph.coordinates.tolist()):
        result.nodes[node].update(zip(axes, place))
    for position in () if graph.terminals is None else graph.terminals.tolist():
        result.nodes[nodes[position]]["terminal"] = True
    return result
