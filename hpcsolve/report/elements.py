"""HTML elements of the page. Text is escaped unless it is `Markup` already, so text of a result never becomes HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from hpcsolve.wording import visible


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def element(name: str, *children: object, **attributes: str) -> Markup:
    """Return an element, such as `element("p", "a < b", class_="note")`.

    Parameters
    ----------
    children
        Put one after the other; whatever is not `Markup` is escaped.
    attributes
        Their values are escaped. `class_` is the attribute `class`.
    """
    inside = "".join(escaped(child) for child in children)
    own = "".join(f' {key.rstrip("_").replace("_", "-")}="{escaped(str(text))}"' for key, text in attributes.items())
    return Markup(f"<{name}{own}>{inside}</{name}>")


def escaped(content: object) -> Markup:
    """Return a text as HTML, and `Markup` as it is."""
    if isinstance(content, Markup):
        return content
    return Markup(html.escape(visible(str(content))))


def joined(parts: Iterable[Markup]) -> Markup:
    """Return elements one after the other, each on its own line."""
    return Markup("\n".join(parts))


def table(headings: Sequence[object], rows: Iterable[Sequence[object]], caption: str) -> Markup:
    """Return a table, which scrolls where the page is too narrow. Its first column has the headings of the rows."""
    head = element("tr", *(element("th", text, scope="col") for text in headings))
    lines = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows
    ]
    inside = (element("caption", caption), element("thead", head), element("tbody", joined(lines)))
    return element("div", element("table", *inside), class_="scroll", tabindex="0", role="region", aria_label=caption)


def folded(summary: str, *content: object) -> Markup:
    """Return content that is shown when its summary is clicked, and in print."""
    return element("details", element("summary", summary), *content)


def pairs(terms: Iterable[tuple[str, object]]) -> Markup:
    """Return terms and their values side by side."""
    return element("dl", joined(element("div", element("dt", term), element("dd", value)) for term, value in terms))
