"""The pages of documentation, and the blocks of code in them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.frame.source import REPOSITORY

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def pages() -> list[Path]:
    """Every page that is executed: README.md and those of docs/."""
    return [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def documents() -> list[Path]:
    """Every Markdown file of the repository."""
    inside = (path for folder in ("docs", "jobs", "slurm") for path in sorted((REPOSITORY / folder).rglob("*.md")))
    return [*sorted(REPOSITORY.glob("*.md")), *inside]


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return [body for name, body in FENCE.findall(text) if name == language]


def prose(text: str) -> str:
    """The text without its fenced blocks."""
    return FENCE.sub("", text)
