"""What a document names exists: links, headings behind `#`, paths in backticks, commands of make, modules."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import FENCE, documents, pages, prose
from tests.frame.source import REPOSITORY, shown

LINK = re.compile(r"\]\(([^)\s]+)\)")
FOLDERS = "hpcsolve|cuda_src|jobs|docs|tests|slurm|release"
CODE = re.compile(r"`((?:[^`\n]|\n(?!\n))+)`")
"""A span of code; it may go on in the next line, but not in the next paragraph."""
PATH = re.compile(rf"(?<![\w./-])(?:{FOLDERS})(?:/[\w.*-]+)+/?")
PLACEHOLDER = re.compile(r"[A-Z]{2,}(?!\w)")
"""`hpcsolve/formats/NAME.py` stands for any file."""
HISTORY = REPOSITORY / "CHANGELOG.md"


def headings(path: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    lines = re.findall(r"^#+ (.*)$", FENCE.sub("", path.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", line.lower()).strip().replace(" ", "-") for line in lines}


def broken_links(path: Path) -> list[str]:
    """Relative links of a document that lead nowhere."""
    found = []
    for link in LINK.findall(prose(path.read_text(encoding="utf-8"))):
        name, _, anchor = link.partition("#")
        target = (path.parent / name) if name else path
        if "://" in link or link.startswith("mailto:"):
            continue
        if not target.exists() or (anchor and anchor not in headings(target)):
            found.append(link)
    return found


def missing_paths(text: str) -> list[str]:
    """Return the paths in code spans and blocks that do not exist in the repository. `*` matches anything."""
    spans = CODE.findall(prose(text)) + [body for _, body in FENCE.findall(text)]
    named = [name.rstrip("/.") for span in spans for name in PATH.findall(span)]
    return [name for name in named if not PLACEHOLDER.fullmatch(Path(name).stem) and not any(REPOSITORY.glob(name))]


@pytest.mark.parametrize("path", documents(), ids=shown)
def test_links_lead_somewhere(path):
    assert broken_links(path) == []


@pytest.mark.parametrize("path", [path for path in documents() if path != HISTORY], ids=shown)
def test_paths_exist(path):
    assert missing_paths(path.read_text(encoding="utf-8")) == []


def test_targets_of_make_exist():
    listed = subprocess.run(["make", "help"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    targets = {line.split()[0] for line in listed.splitlines()}
    for path in documents():
        text = path.read_text(encoding="utf-8")
        spans = CODE.findall(prose(text)) + [line for _, body in FENCE.findall(text) for line in body.splitlines()]
        made = re.compile(r"make ([a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)*)")
        calls = [found[1] for span in spans if (found := made.match(span))]
        named = {target for call in calls for target in call.split()}
        assert named <= targets, f"{shown(path)}: make {named - targets}"


def test_every_page_is_in_the_index():
    index = REPOSITORY / "docs" / "README.md"
    names = [link.partition("#")[0] for link in LINK.findall(index.read_text(encoding="utf-8"))]
    linked = {(index.parent / name).resolve() for name in names}
    assert {path for path in pages() if path != index} <= linked


def test_these_tests_can_fail(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A `B` c\n[x](gone.md) [y](#a-b-c) [z](#nothing) [w](https://example.org)\n")
    assert broken_links(page) == ["gone.md", "#nothing"]
    text = "`hpcsolve/gone.py` `hpcsolve/NAME.py` `cuda_src/*/*.cu` see jobs/gone `x\ny docs/gone.md`\n"
    text += "```sh\nrun jobs/gone.toml\n```\n"
    assert missing_paths(text) == ["hpcsolve/gone.py", "docs/gone.md", "jobs/gone.toml"]
