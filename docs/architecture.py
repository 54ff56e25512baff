"""Draws docs/architecture.svg from the imports of the package: `python docs/architecture.py PICTURE.svg`.

Each box is a module or folder directly in hpcsolve, with its files and lines. An arrow leads from a box to one that it
imports; arrows that follow from others are left out. Imports for type annotations do not count. A box stands one row
below the lowest of those that import it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "hpcsolve"
LEFT_OUT = {"hpcsolve", "hpcsolve.__main__", "hpcsolve.cuda_src", "hpcsolve.jobs"}
"""The package's own __init__, which hands out names of upper layers, and what is no module of its own."""
WIDTH, HEIGHT, GAP, ROW = 124, 36, 14, 64
"""Sizes of a box and of what is between boxes, in pixels."""


def box_of(module: str) -> str:
    """Return the name of the box in which a module stands."""
    return ".".join(module.split(".")[:2])


def module_of(path: Path) -> str:
    """Return the name of a file's module."""
    parts = ("hpcsolve", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield what a file imports, at any depth but for type annotations alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        yield from imported(node)


def read() -> tuple[dict[str, list[int]], dict[str, set[str]]]:
    """Return the files and lines of each box, and the boxes that it imports."""
    sizes: dict[str, list[int]] = {}
    edges: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        box = box_of(module_of(path))
        if box in LEFT_OUT:
            continue
        text = path.read_text(encoding="utf-8")
        size = sizes.setdefault(box, [0, 0])
        size[0], size[1] = size[0] + 1, size[1] + text.count("\n")
        others = {box_of(name) for name in imported(ast.parse(text)) if name.startswith("hpcsolve.")}
        edges.setdefault(box, set()).update(others - {box})
    return sizes, {box: others & sizes.keys() for box, others in edges.items()}


def reachable(box: str, edges: dict[str, set[str]]) -> set[str]:
    """Return all boxes to which arrows lead from one, over others too."""
    found: set[str] = set()
    waiting = list(edges[box])
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += edges[one]
    return found


def rows(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the boxes row by row, from the top down."""
    depth: dict[str, int] = {}
    while len(depth) < len(edges):
        for box in edges:
            above = [one for one, others in edges.items() if box in others]
            if all(one in depth for one in above):
                depth.setdefault(box, 1 + max((depth[one] for one in above), default=-1))
    return [sorted(box for box in edges if depth[box] == row) for row in range(max(depth.values()) + 1)]


def draw() -> str:
    """Return the picture as SVG."""
    sizes, edges = read()
    direct = {box: {one for one in others if not any(one in reachable(other, edges) for other in others)}
              for box, others in edges.items()}
    stack = rows(edges)
    width = max(len(row) for row in stack) * (WIDTH + GAP) + GAP
    place = {box: ((width - len(row) * (WIDTH + GAP) + GAP) // 2 + at * (WIDTH + GAP), GAP + number * ROW)
             for number, row in enumerate(stack) for at, box in enumerate(row)}
    arrows, boxes, lane = [], [], width
    for box in sorted(place, key=lambda one: place[one][::-1]):
        x, y = place[box]
        for one in sorted(direct[box]):
            to_x, to_y = place[one]
            if to_y == y + ROW:
                start, end, bend = x + WIDTH // 2, to_x + WIDTH // 2, (ROW - HEIGHT) // 2
                arrows.append(f'<path d="M{start} {y + HEIGHT}C{start} {y + HEIGHT + bend} {end} {y + HEIGHT + bend} '
                              f'{end} {to_y - 5}"/>')
            else:  # past the boxes of the rows between, in a lane of its own
                arrows.append(f'<path d="M{x + WIDTH - GAP} {y + HEIGHT}v8H{lane}V{to_y + 8}H{to_x + WIDTH + 5}"/>')
                lane += GAP
        files, lines = sizes[box]
        what = f"{lines} lines" if files == 1 else f"{files} files, {lines} lines"
        boxes.append(f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="4"/>'
                     f'<text x="{x + WIDTH // 2}" y="{y + 15}">{box.split(".")[-1]}</text>'
                     f'<text x="{x + WIDTH // 2}" y="{y + 29}" class="size">{what}</text>')
    high = len(stack) * ROW + 2 * GAP - (ROW - HEIGHT)
    style = ("rect{fill:#eef3fa;stroke:#4a6fa5}text{font:13px sans-serif;text-anchor:middle;fill:#222}"
             ".size{font-size:10px;fill:#667}path{fill:none;stroke:#99a;marker-end:url(#tip)}")
    tip = ('<marker id="tip" viewBox="0 0 8 8" refX="2" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
           '<path d="M0 0L8 4L0 8z" style="fill:#99a;stroke:none;marker-end:none"/></marker>')
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {lane} {high}" width="{lane}">',
                      f"<style>{style}</style><defs>{tip}</defs>",
                      f'<rect x="0" y="0" width="{lane}" height="{high}" style="fill:#fff;stroke:none"/>',
                      *arrows, *boxes, "</svg>\n"])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(draw(), encoding="utf-8")
