"""The oldest versions that setup.cfg allows, for pip: `make test-oldest` installs them and runs tests with them."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator
from pathlib import Path

SETUP = Path(__file__).resolve().parent.parent / "setup.cfg"
EXTRAS = ("local", "plot", "test")
"""Extras that have wheels. PyCUDA (`cuda`) must be built, `mpi` depends on a site's MPI, and `dev` is not for users."""


def oldest() -> Iterator[str]:
    """Yield each requirement as `h5py==3.8`, and raise ValueError for one without a lower bound."""
    config = configparser.ConfigParser()
    config.read(SETUP)
    lists = [config["options"]["install_requires"], *(config["options.extras_require"][extra] for extra in EXTRAS)]
    for line in "".join(lists).strip().splitlines():
        found = re.fullmatch(r"([\w-]+) >= ([\d.]+)(;.*)?", line)
        if found is None:
            raise ValueError(f"setup.cfg: {line!r} is not NAME >= VERSION")
        yield f"{found[1]}=={found[2]}{found[3] or ''}"


if __name__ == "__main__":
    print("\n".join(oldest()))
