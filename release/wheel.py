"""Builds wheels that need no compiler: hpcsolve with its kernels, compiled beforehand for kinds of CPUs.

    python -m release.wheel dist

There is one for this machine, and one for each other that has a cross compiler here (`CROSS_COMPILERS`).

setuptools makes a platform-independent wheel from the package's files. What is added to it goes into the
folder `hpcsolve/shipped`: a folder with kernels for each kind of CPU (`hpcsolve/device/build.py` says which is loaded),
and g++'s OpenMP library, of which they all load the same one. The wheel's name has the oldest glibc that all of them
run with, so build it where that is old: on Debian 12 it is 2.34.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

from hpcsolve.device.build import build_target, features_in, features_of_this_cpu, shipped_folder, source_folder
from hpcsolve.device.compiler import host_compiler, target_features, target_machine
from hpcsolve.wording import show

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDERS = ("hpcsolve", "cuda_src", "jobs")
FILES = ("setup.cfg", "pyproject.toml", "README.md", "LICENSE")
"""What the platform-independent wheel is made of."""
KINDS_OF_CPU = {"x86_64": ("x86-64-v3", "x86-64-v4"), "aarch64": ("armv8-a",)}
"""As g++ names them, for each instruction set. On x86: with AVX2 (Intel since 2013, AMD since 2015), and AVX-512."""
CROSS_COMPILERS = ("aarch64-linux-gnu-g++",)
"""As Debian names them, with which other machines' kernels are compiled here."""
SETUPTOOLS = "import sys, setuptools.build_meta as backend; print(backend.build_wheel(sys.argv[1]))"
EVERYWHERE = re.compile(r"libgomp\.so\.1|lib(c|m|pthread|dl|rt)\.so|libgcc_s\.so|ld-linux")
"""Libraries that the wheel has, or every Linux with glibc."""
DATE = (1980, 1, 1, 0, 0, 0)
"""The date of all files in the wheel, so that the same source and compiler give the same wheel."""


def plain_wheel(folder: Path) -> Path:
    """Build the platform-independent wheel into a folder, and return its path.

    It is built from a copy of the source. In the checkout setuptools would leave files behind, and take up old ones.
    """
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary)
        for name in FOLDERS:
            shutil.copytree(REPOSITORY / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "shipped"))
        for name in FILES:
            shutil.copy(REPOSITORY / name, source)
        command = [sys.executable, "-c", SETUPTOOLS, str(folder.resolve())]
        done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"setuptools could not build the wheel:\n{done.stderr}")
    return folder / done.stdout.splitlines()[-1]


def kernel_files() -> list[str]:
    """Return all files of cuda_src that a compiler makes a library of, as `hpcsolve build` names them."""
    folder = source_folder()
    paths = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.suffix in (".cu", ".cpp")]
    return [path.with_suffix("").as_posix() for path in paths]


def kinds_for_this_cpu() -> list[str]:
    """Return the kinds of CPUs for which a wheel has kernels, and that this CPU can run, from the oldest on."""
    has, kinds = features_of_this_cpu(), KINDS_OF_CPU.get(platform.machine(), ())
    return [kind for kind in kinds if set(features_in(target_features(host_compiler(), kind))) <= has]


def compile_kernels(folder: Path, kinds: Iterable[str], files: Sequence[str], report: Callable[[str], None]) -> None:
    """Compile kernel files for kinds of CPUs into the folder that a wheel calls `hpcsolve/shipped`, and add libgomp."""
    folder.mkdir(parents=True)
    for kind in kinds:
        build_target(kind, False, files, report, folder)
    asked = [host_compiler(), "-print-file-name=libgomp.so.1"]
    library = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    shutil.copyfile(library, folder / "libgomp.so.1")


def oldest_glibc(libraries: Sequence[Path]) -> tuple[int, int]:
    """Return the version of glibc that libraries need, the greatest of all symbols that they ask of it.

    Raises
    ------
    SystemExit
        They need another library that is not everywhere.
    """
    told = subprocess.run(["readelf", "--wide", "--dynamic", "--version-info", *map(str, libraries)],
                          capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout
    foreign = {name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", told) if not EVERYWHERE.match(name)}
    if foreign:
        raise SystemExit(f"the kernels need {', '.join(sorted(foreign))}, which not every machine has")
    return max((int(major), int(minor)) for major, minor in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", told))


def with_kernels(plain: Path, folder: Path) -> Path:
    """Write the wheel of the compiler's platform beside the platform-independent one, and return its path.

    Parameters
    ----------
    folder
        What becomes `hpcsolve/shipped` in the wheel.
    """
    added = sorted(path for path in folder.rglob("*") if path.is_file())
    major, minor = oldest_glibc([path for path in added if ".so" in path.suffixes and path.suffix != ".sha256"])
    tag = f"py3-none-manylinux_{major}_{minor}_{target_machine(host_compiler())}"
    path = plain.with_name(plain.name.replace("py3-none-any", tag))
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        record = next(name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        lines = []
        for name, content in _contents(old, added, folder, tag):
            if name != record:
                new.writestr(_entry(name), content, zipfile.ZIP_DEFLATED)
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                lines.append(f"{name},sha256={digest},{len(content)}\n")
        new.writestr(_entry(record), "".join([*lines, f"{record},,\n"]), zipfile.ZIP_DEFLATED)
    return path


def _entry(name: str) -> zipfile.ZipInfo:
    """Return the entry of a file in the wheel, which everybody may read."""
    entry = zipfile.ZipInfo(name, DATE)
    entry.external_attr = 0o644 << 16
    return entry


def _contents(old: zipfile.ZipFile, added: Iterable[Path], folder: Path, tag: str) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of the new wheel: of the old one, whose tag changes, and of what is added."""
    for name in old.namelist():
        content = old.read(name)
        if name.endswith(".dist-info/WHEEL"):
            content = content.replace(b"py3-none-any", tag.encode()).replace(b"Purelib: true", b"Purelib: false")
        yield name, content
    for path in added:
        yield f"hpcsolve/{shipped_folder().name}/{path.relative_to(folder).as_posix()}", path.read_bytes()


def build_wheel(folder: Path, kinds: Iterable[str] | None = None, files: Sequence[str] | None = None) -> Path:
    """Build the wheel with kernels for these kinds of CPUs into a folder, and return its path.

    Parameters
    ----------
    kinds
        By default those of the machine for which the compiler makes code.
    files
        The kernel files, all of them by default.
    """
    folder.mkdir(parents=True, exist_ok=True)
    machine = target_machine(host_compiler())
    if not (kinds := tuple(kinds or KINDS_OF_CPU.get(machine, ()))):
        raise SystemExit(f"release.wheel: no kinds of CPUs are known for {machine}; install hpcsolve from its source")
    with tempfile.TemporaryDirectory() as temporary:
        shipped = Path(temporary) / "shipped"
        compile_kernels(shipped, kinds, files or kernel_files(), lambda file: show(f"compiled: {file}"))
        wheel = with_kernels(plain_wheel(Path(temporary)), shipped)
        return Path(shutil.move(wheel, folder / wheel.name))


def build_wheels(folder: Path) -> list[Path]:
    """Build the wheels for this machine and for those that have a cross compiler here, and return their paths."""
    compilers: dict[str, str] = {}
    for name in (host_compiler(), *filter(shutil.which, CROSS_COMPILERS)):
        compilers.setdefault(target_machine(name), name)
    wheels = []
    for name in compilers.values():
        with patch.dict(os.environ, HPCSOLVE_CXX=name):
            wheels.append(build_wheel(folder))
    return wheels


if __name__ == "__main__":
    for wheel in build_wheels(Path(sys.argv[1])):
        show(f"wheel:    {wheel}")
