"""The example jobs that come with hpcsolve: `jobs/` of the repository, which is inside the installed package."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from hpcsolve.errors import EnvironmentFault, InputError
from hpcsolve.formats.files import write_file
from hpcsolve.wording import did_you_mean


def examples() -> dict[str, str]:
    """Return the first sentence of each example's comment, by name.

    Raises
    ------
    EnvironmentFault
        The examples are not installed.
    """
    texts = {path.stem: path.read_text(encoding="utf-8") for path in _folder().glob("*.toml")}
    return {name: _first_sentence(text) for name, text in sorted(texts.items())}


def write_example(name: str, folder: Path) -> list[Path]:
    """Write an example and the files that it names, and return their paths, the job first.

    Raises
    ------
    InputError
        There is no such example, or another file is in the way.
    EnvironmentFault
        A file cannot be written, or the examples are not installed.
    """
    known = examples()
    if name not in known:
        hint = did_you_mean(name, known, f"; the examples are {', '.join(known)}")
        raise InputError(f"unknown example {name!r}{hint}")
    source = _folder()
    text = (source / f"{name}.toml").read_text(encoding="utf-8")
    job = text.replace("jobs/", "").encode()  # its comments show commands for the repository's root
    files = {f"{name}.toml": job}
    files |= {file: (source / file).read_bytes() for file in _texts(msgspec.toml.decode(text))
              if (source / file).is_file()}
    for file, content in files.items():
        path = folder / file
        try:
            fits = not os.path.lexists(path) or (path.is_file() and path.read_bytes() == content)
        except OSError:  # nobody can say what is in it
            fits = False
        if not fits:
            raise InputError("exists already with another content; name another folder", str(path))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFault(f"{folder}: the folder cannot be made: {error.strerror}") from None
    for file, content in files.items():
        write_file(content, str(folder / file))
    return [folder / file for file in files]


def _folder() -> Path:
    """Return the folder of the examples. In a checkout it is a link to `jobs/` of the repository."""
    folder = Path(__file__).resolve().parent.parent / "jobs"
    if not (folder / "eu-capitals.toml").is_file():
        raise EnvironmentFault(f"{folder} has no example jobs: install hpcsolve again")
    return folder


def _first_sentence(text: str) -> str:
    comment = re.match(r"(?:#.*\n)+", text)
    words = " ".join(line.lstrip("# ") for line in (comment[0] if comment else "").splitlines())
    return re.split(r"(?<=\.) ", words)[0].removesuffix(".")


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a table."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
