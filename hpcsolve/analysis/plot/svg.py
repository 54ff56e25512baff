"""Makes a picture an SVG element of a page, whose style sheet sets the colours, light or dark."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from hpcsolve.analysis.plot import palette
from hpcsolve.analysis.plot.canvas import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VARIABLES = {
    "#000000": "ink", "#ffffff": "paper", "#cccccc": "line", palette.BLUE: "blue", palette.VERMILION: "vermilion",
    palette.GREEN: "green", palette.ORANGE: "orange", palette.SKY: "sky", palette.PURPLE: "purple",
    palette.GREY: "grey", palette.BLACK: "dark",
}
"""Colour -> the variable of the page's style sheet that takes its place."""
STYLE = {
    "svg.fonttype": "none", "font.family": "DejaVu Sans", "font.size": 8.5, "axes.linewidth": 0.6,
    "legend.fontsize": 7.5, "xtick.major.width": 0.6, "ytick.major.width": 0.6, "savefig.dpi": 170,
}
PAD = 0.03
"""Inches that are empty above and below a picture."""
FONTS = "'DejaVu Sans', Verdana, 'Segoe UI', sans-serif"
"""Texts are laid out as in DejaVu Sans, which is wide; other fonts fit in as well."""


def svg(draw: Callable[[Axes], object], size: tuple[float, float], name: str, text: str) -> str:
    """Return a picture as an `<svg>` element that is the same bytes for the same result.

    Parameters
    ----------
    draw
        Draws on the axes that it is given.
    size
        Width and height in inches, before the page scales the picture.
    name
        Prefix of the picture's ids, of letters and digits, unique on the page.
    text
        Text alternative for readers who cannot see the picture.

    Raises
    ------
    EnvironmentFault
        matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.style import context
    from matplotlib.transforms import Bbox

    content = io.StringIO()
    with context(["default", {**STYLE, "svg.hashsalt": name}]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has fonts for them
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        for axes in figure.axes:
            axes.set_title("")  # the page has a caption
        figure.draw_without_rendering()
        drawn = figure.get_tightbbox()
        whole = Bbox.from_extents(0, drawn.y0 - PAD, size[0], drawn.y1 + PAD)  # without the title's room
        figure.savefig(content, format="svg", metadata={"Date": None}, bbox_inches=whole)
    picture = ElementTree.fromstring(content.getvalue())
    for parent in picture.findall(".//{*}style/.."):  # its rules would apply to the whole page
        for child in parent.findall("{*}style"):
            parent.remove(child)
    for child in picture.findall("{*}metadata"):
        picture.remove(child)
    for element in picture.iter():
        element.tag = element.tag.partition("}")[2]
        element.attrib = {_local(key): _adapted(_local(key), value, name) for key, value in element.attrib.items()}
    del picture.attrib["width"], picture.attrib["height"], picture.attrib["version"]
    picture.attrib |= {"role": "img", "aria-label": text, "class": "plot"}
    return ElementTree.tostring(picture, encoding="unicode")


def _local(key: str) -> str:
    """Return the name of an attribute without its namespace, as HTML wants it."""
    return key.partition("}")[2] or key


def _adapted(key: str, value: str, name: str) -> str:
    """Return the value of an attribute with the page's colours and fonts, and with ids that no other picture has."""
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return value.replace("#", f"#{name}-", 1) if value.startswith("#") else value
    value = value.replace("url(#", f"url(#{name}-")
    if key != "style":
        return value
    value = re.sub("#[0-9a-f]{6}", lambda found: _color(found[0]), value)
    return re.sub(r"(font: [\w. ]*?[\d.]+px )[^;]*", rf"\1{FONTS}", value)


def _color(code: str) -> str:
    return f"var(--{VARIABLES[code]})" if code in VARIABLES else code
