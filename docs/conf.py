"""The site of documents, for Sphinx: `make site` writes build/site from the Markdown files of the repository.

The source folder is that of the repository, so that links between README.md, docs/, jobs/ and slurm/ are links between
pages. The navigation is that of docs/README.md. A link to a file that is no page becomes a download.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

import hpcsolve

REPOSITORY = Path(__file__).resolve().parent.parent
INDEX = "docs/README"

project = "hpcsolve"
copyright = "The hpcsolve developers"
version = release = hpcsolve.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "docs/api.rst", "jobs/**.md", "slurm/*.md"]
exclude_patterns = ["build", ".*", "hpcsolve", "tests", "cuda_src", "results", "*.egg-info"]
myst_heading_anchors = 6
templates_path: list[str] = []

autodoc_default_options = {"members": True, "inherited-members": "BaseException"}
autodoc_typehints = "none"
numpydoc_show_class_members = False
default_role = "code"

html_theme = "furo"
html_title = f"hpcsolve {version}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False

START = '<!DOCTYPE html><title>hpcsolve</title><meta http-equiv="refresh" content="0; url=README.html">'


def parts(index: Path) -> dict[str, list[str]]:
    """Return the pages under each heading of docs/README.md, those that its points begin with."""
    found = {"": [f"/{INDEX}"]}
    for heading, text in re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", index.read_text(encoding="utf-8"), re.M):
        pages = [(index.parent / link).resolve() for link in re.findall(r"^- \[.*?\]\(([^)]+)\)", text, re.M)]
        found[heading] = [f"/{page.relative_to(REPOSITORY).with_suffix('')}" for page in pages]
    return found


def beside(folder: Path, shown: set[str]) -> list[str]:
    """Return the pages beside and right below a README.md that the navigation does not have yet."""
    pages = [page for pattern in ("*.md", "*/README.md") for page in sorted(folder.glob(pattern))]
    names = [f"/{page.relative_to(REPOSITORY).with_suffix('')}" for page in pages if page != folder / "README.md"]
    return [name for name in names if name not in shown]


def add_navigation(app: Sphinx, name: str, text: list[str]) -> None:
    """Put trees of pages, which readers of the repository do not need, behind the start page and each README.md."""
    found = parts(REPOSITORY / f"{INDEX}.md")
    if name != root_doc:
        shown = {page for pages in found.values() for page in pages}
        found = {"": beside((REPOSITORY / name).parent, shown) if name.endswith("/README") and name != INDEX else []}
    for caption, pages in found.items():
        if pages:
            options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
            text[0] += "\n".join(["", "```{toctree}", *options, "", *pages, "```", ""])


def write_start(app: Sphinx, error: Exception | None) -> None:
    """Write index.html, by which servers and people find the start page."""
    if error is None:
        (Path(app.outdir) / "index.html").write_text(START, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect what this file adds to Sphinx."""
    app.connect("source-read", add_navigation)
    app.connect("build-finished", write_start)
