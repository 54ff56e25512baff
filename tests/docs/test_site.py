"""The site of documents: every page is there, every link within it leads somewhere, nothing comes from the network."""

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import hpcsolve
from tests.docs.pages import documents
from tests.frame.source import REPOSITORY

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """The anchors, the links and what is loaded by a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Keep what the attributes of a tag name."""
        values = dict(attrs)
        self.anchors.add(values.get("id"))
        self.links += [values["href"]] if tag == "a" and "href" in values else []
        self.loaded += [values[name] for name in ("src", "href") if tag != "a" and name in values]


def dead(pages: dict[Path, Page]) -> list[str]:
    """Return the links of pages that lead to no file or anchor, and what a page loads from elsewhere."""
    found = []
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            url = urlsplit(link)
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            if url.scheme or url.netloc:
                wrong = link in page.loaded and url.scheme != "data"
            elif url.fragment and target in pages:
                wrong = unquote(url.fragment) not in pages[target].anchors
            else:
                wrong = not target.is_file()
            found += [f"{path.name}: {link}"] if wrong else []
    return found


def test_the_site(tmp_path):
    """The site is built once, as `make site` builds it: no link is dead, and each document and public name is there."""
    for library in ("sphinx", "myst_parser", "furo", "numpydoc"):
        pytest.importorskip(library, reason=f"no {library}: pip install '.[site]'")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", "-d", tmp_path / "state", "."]
    done = subprocess.run([*command, tmp_path / "site"], cwd=REPOSITORY, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    site = {path: Page(path) for path in (tmp_path / "site").rglob("*.html")}
    assert dead(site) == []
    built = {path.as_posix() for path in site}
    names = [path.relative_to(REPOSITORY).with_suffix(".html").as_posix() for path in documents()]
    assert [name for name in names if not any(path.endswith(f"/site/{name}") for path in built)] == []
    reference = next(page for path, page in site.items() if path.name == "api.html")
    named = {f"hpcsolve.{name}" for name in hpcsolve.__all__ if not name.startswith("__")}
    assert named | {"hpcsolve.Result.tour", "hpcsolve.Result.to_pandas"} <= reference.anchors


def test_these_tests_can_fail(tmp_path):
    path = tmp_path / "page.html"
    path.write_text('<p id="a"><a href="#a">x</a><a href="#b">y</a><a href="gone.html">z</a><img src="https://x.org/y">')
    assert dead({path: Page(path)}) == ["page.html: #b", "page.html: gone.html", "page.html: https://x.org/y"]
