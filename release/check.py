"""What must hold before a release: a list of checks, each a line, and the exit code 1 if one fails.

    python -m release.check

1. The version is the same wherever it stands, and CHANGELOG.md has its date.
2. What documents have from the code is up to date, and their links lead somewhere.
3. All files are committed. The source distribution and the wheel can each be installed from the package index into a
   fresh environment, this machine's wheel without a compiler. There `hpcsolve check` agrees, and a table of places is
   solved.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import hpcsolve
from hpcsolve.wording import counted, show
from release.wheel import REPOSITORY, build_wheels

VERSIONS = {
    "CITATION.cff": r"^version: (.+)$", "conda/recipe.yaml": r"^  version: (.+)$",
    "README.md": r"hpcsolve-([\d.]+)-py3-none-manylinux", "slurm/package.py": r'^    version\("(.+)"\)$',
    "slurm/hpcsolve.eb": r"^version = '(.+)'$", "CHANGELOG.md": r"^## ([^,\n]+), ",
}
"""Files with the version, and where in them."""
SETTINGS = ("PYTHONPATH", "HPCSOLVE_CXX", "HPCSOLVE_CXXFLAGS")
"""Variables that would let an environment import the checkout, or leave the wheel's kernels aside."""
BUILD_SOURCE = "import sys, setuptools.build_meta as backend; print(backend.build_sdist(sys.argv[1]))"


def wrong_versions(repository: Path = REPOSITORY) -> Iterator[str]:
    """Yield a line for each file that has another version than the package, or no date for it."""
    for name, pattern in VERSIONS.items():
        found = re.search(pattern, (repository / name).read_text(encoding="utf-8"), re.M)
        if found is None or found[1] != hpcsolve.__version__:
            yield f"{name}: version {found[1] if found else 'missing'}, not {hpcsolve.__version__}"
    if re.search(r"^## \S+, unreleased$", (repository / "CHANGELOG.md").read_text(encoding="utf-8"), re.M):
        yield 'CHANGELOG.md: "unreleased" in place of the date'


def stale_documents() -> Iterator[str]:
    """Yield a line if documents differ from the code, or links lead nowhere."""
    tests = ["tests/docs/test_generated.py", "tests/docs/test_links.py"]
    command = [sys.executable, "-m", "pytest", "-q", *tests]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode:
        yield from (line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR")))
        yield "documents are not up to date: make docs"


def source_distribution(folder: Path) -> Path:
    """Build the source distribution of the last commit into a folder, and return its path."""
    with tempfile.TemporaryDirectory() as temporary:
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=REPOSITORY, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", temporary], input=archive, check=True)
        done = subprocess.run([sys.executable, "-c", BUILD_SOURCE, str(folder.resolve())], cwd=temporary,
                              capture_output=True, text=True, check=True)
    return folder / done.stdout.splitlines()[-1]


def failing_installation(package: Path, folder: Path, path: str) -> Iterator[str]:
    """Yield a line if a package cannot be installed into a new environment, or a command of it fails there.

    Parameters
    ----------
    path
        The folders of the PATH, beside that of the environment.
    """
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    commands: Mapping[str, list[str]] = {
        "pip install": ["python", "-m", "pip", "install", "--quiet", f"{package.resolve()}[local]"],
        "hpcsolve check": ["hpcsolve", "check", "--device", "cpu"],
        "hpcsolve new": ["hpcsolve", "new", "places"],
        "hpcsolve solve": ["hpcsolve", "solve", "places.csv", "--device", "cpu"],
    }
    own = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    places = [str(folder / "bin"), *([path] if path else [])]
    settings = {**own, "HPCSOLVE_CACHE": str(folder / "cache"), "PATH": os.pathsep.join(places)}
    for name, (program, *words) in commands.items():
        command = [folder / "bin" / program, *words]
        done = subprocess.run(command, env=settings, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            yield f"{package.name}: {name} ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}"
            return


def failures(folder: Path) -> Iterator[str]:
    """Yield a line for each check that fails. Packages and environments are made in a folder."""
    yield from wrong_versions()
    status = subprocess.run(["git", "status", "--porcelain"], cwd=REPOSITORY, capture_output=True, check=True)
    yield from (f"not committed: {line}" for line in status.stdout.decode().splitlines())
    yield from stale_documents()
    yield from failing_installation(build_wheels(folder)[0], folder / "from-wheel", "")
    yield from failing_installation(source_distribution(folder), folder / "from-source", os.environ["PATH"])


def main() -> int:
    """Print what fails, and return the exit code."""
    folder = REPOSITORY / "build" / "release"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found = 0
    for line in failures(folder):
        show(f"FAIL: {line}")
        found += 1
    show(f"{counted(found, 'check')} failed" if found else f"all checks passed: {folder} has what is to be uploaded")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
