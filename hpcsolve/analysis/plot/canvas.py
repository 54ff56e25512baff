"""What all pictures share: what a result must have to be drawn, axes and title, texts, colours, and a picture as SVG.

The colours are those that the colour-blind can tell apart. Source: Okabe and Ito, Color Universal Design (2008),
without their yellow, which is too light for lines on white.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis import require_installed
from hpcsolve.answers import ANSWERS, answer_in
from hpcsolve.errors import InputError
from hpcsolve.wording import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

BLUE, VERMILION, GREEN = "#0072b2", "#d55e00", "#009e73"
ORANGE, SKY, PURPLE = "#e69f00", "#56b4e9", "#cc79a7"
BLACK = "#4d4d4d"
GREY = "#999999"
"""What lies below: streets, unreached vertices, time that no phase accounts for."""
SERIES = (BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE)
"""For lines and areas side by side, in this order."""
FIELD_PAPER, FIELD_INK = "#fcfcfc", "#222222"
"""Paper and ink of a picture whose colours stand for numbers: light even where the page around it is dark."""
DISTANCE_MAP = "cividis"
"""From dark blue to yellow, of even steps in lightness, the same for most forms of colour blindness."""


LONGEST_NAME = 28
"""Characters of a name that are drawn."""
SIZE = (7.0, 5.4)
"""Width and height of a new figure in inches."""
RASTER_FROM = 1500
"""From this number of marks on, they are rasterized in SVG and PDF, where each would take some 100 bytes."""
VARIABLES = {
    "#000000": "ink", "#ffffff": "paper", "#cccccc": "line", BLUE: "blue", VERMILION: "vermilion",
    GREEN: "green", ORANGE: "orange", SKY: "sky", PURPLE: "purple",
    GREY: "grey", BLACK: "dark",
}
"""Colour -> the variable of the page's style sheet that takes its place."""
STYLE = {
    "svg.fonttype": "none", "font.family": "DejaVu Sans", "font.size": 8.5, "axes.linewidth": 0.6,
    "legend.fontsize": 7.5, "xtick.major.width": 0.6, "ytick.major.width": 0.6, "savefig.dpi": 170,
}
PAD = 0.03
"""Inches that are empty above and below a picture."""
FONTS = "'DejaVu Sans', Verdana, 'Segoe UI', sans-serif"
"""The fonts of the page. Texts are laid out as in DejaVu Sans, which is wide, so others fit in as well."""


def clean(text: object) -> str:
    """Return a text in one line that is not too long."""
    line = " ".join(visible(str(text)).split())
    return line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "…"


def number(value: float) -> str:
    """Return a number as `13918` or, with at most nine digits, `0.25`, and `inf` and `nan` as they are."""
    return str(int(value)) if float(value).is_integer() else f"{value:.9g}"


def kind_of_answer(result: Result) -> str:
    """Return the kind of the answer of a result. Raises `InputError` if there is no answer."""
    answer = answer_in(result.contents)
    if answer is None:
        raise InputError("the result has no answer, so there is nothing to draw")
    return answer.name


def require_answer(result: Result, kind: str, function: str) -> None:
    """Raise an `InputError` if the answer is of another kind than the function draws.

    Raises
    ------
    InputError
        The message names both kinds, and what draws the answer.
    """
    found = kind_of_answer(result)
    if found != kind:
        words = {answer.name: answer.in_words for answer in ANSWERS}
        text = f"{function} draws {words[kind]}; this result of {result.algorithm} has {words[found]}"
        raise InputError(f"{text}, which result.plot() draws")


def column(result: Result, group: str, name: str, function: str) -> NDArray[Any]:
    """Return the values of a dataset.

    Raises
    ------
    InputError
        The result has no such dataset; the message names the function that needs it.
    """
    values = result.contents.value(group, name)
    if values is None:
        raise InputError(f"{function} needs /{group}/{name}, which this result of {result.algorithm} does not have")
    return np.asarray(values)


def positions(result: Result, group: str, name: str, function: str) -> NDArray[np.int64]:
    """Return a dataset of positions, all of which must be those of cities or vertices.

    Raises
    ------
    InputError
        There is no such dataset, or it has a position that no city or vertex has.
    """
    found = column(result, group, name, function).astype(np.int64)
    if len(found) and (found.min() < 0 or found.max() >= result.n):
        raise InputError(f"{function}: /{group}/{name} has positions that the instance does not have")
    return found


def axes_for(axes: Axes | None) -> Axes:
    """Return these axes, or the axes of a new figure of pyplot, which notebooks show and `pyplot.show` finds.

    Raises
    ------
    InputError
        They are no axes of matplotlib.
    EnvironmentFault
        matplotlib is not installed.
    """
    require_installed("matplotlib")
    from matplotlib import pyplot
    from matplotlib.axes import Axes

    if axes is not None and not isinstance(axes, Axes):
        what = f"{type(axes).__name__} is not axes of matplotlib"
        raise InputError(f"{what}; give what pyplot.gca() or one of pyplot.subplots()[1] is, or nothing")
    return axes if axes is not None else pyplot.subplots(figsize=SIZE, layout="constrained")[1]


def set_title(axes: Axes, result: Result, text: str, pad: float | None = None) -> None:
    """Set the title: the name of the instance and a text below it, `pad` points above the axes."""
    lines = [clean(result.contents.value("instance", "name")), text]
    axes.set_title("\n".join(filter(None, lines)), parse_math=False, fontsize="medium", pad=pad)


def draw_counts(axes: Axes, values: NDArray[Any], color: str, label: str | None = None) -> None:
    """Draw how many values are at most as large as each of them. Infinite ones are left out."""
    within = np.sort(values[np.isfinite(values)])
    axes.step(within, np.arange(1, len(within) + 1), where="post", color=color, label=label)


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
    require_installed("matplotlib")
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
        for _ in range(2):  # the layout of the first drawing may change the limits, on which labels depend
            figure.draw_without_rendering()
        figure.set_layout_engine("none")  # else the picture would be laid out anew in `whole`
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
    for color, variable in VARIABLES.items():
        value = value.replace(color, f"var(--{variable})")
    return re.sub(r"(font: [\w. ]*?[\d.]+px )[^;]*", rf"\1{FONTS}", value)
