"""Builds the interpreter, libptx.so, once for each state of its sources, into build/ptx of the repository."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hpcsolve.device.compiler import cuda_compiler
from tests.shared_folder import locked
from tests.stub_driver.build import CannotBuild, Stub, build_stub

HERE = Path(__file__).parent
# -fwrapv: signed integers wrap as on a GPU. -ffp-contract=off: no fused multiply-add that the PTX does not ask for.
# -falign-functions: the loop over instructions is a tenth slower where it begins within a cache line.
FLAGS = ["-std=c++17", "-O2", "-falign-functions=64", "-fPIC", "-fwrapv", "-ffp-contract=off", "-fvisibility=hidden",
         "-Wall", "-Wextra"]


def interpreter() -> Path:
    """Return the path of libptx.so, which is compiled if it is not there yet.

    Raises
    ------
    CannotBuild
        g++ is missing.
    """
    if shutil.which("g++") is None:
        raise CannotBuild("g++ is not on the PATH")
    sources = sorted(HERE.glob("*.[ch]pp"))
    content = b"".join(source.read_bytes() for source in sources) + " ".join(FLAGS).encode()
    folder = HERE.parent.parent / "build" / "ptx" / hashlib.sha256(content).hexdigest()[:16]
    library = folder / "libptx.so"
    folder.mkdir(parents=True, exist_ok=True)
    with locked(library):  # else each of several processes would compile it
        if not library.exists():
            with tempfile.TemporaryDirectory(dir=folder) as made:
                os.replace(_compile(Path(made)), library)
    return library


def ptx_stub(folder: Path) -> Stub:
    """Build a stub driver that runs PTX.

    Raises
    ------
    CannotBuild
        PyCUDA, g++ or nvcc is missing.
    """
    if shutil.which(cuda_compiler()) is None:
        raise CannotBuild(f"{cuda_compiler()} is not on the PATH")
    stub = build_stub(folder)
    shutil.copy(interpreter(), folder / "lib" / "libptx.so")
    return stub


def _compile(folder: Path) -> Path:
    sources = sorted(HERE.glob("*.cpp"))
    objects = [folder / f"{source.stem}.o" for source in sources]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(_compile_one, sources, objects))
    library = folder / "libptx.so"
    subprocess.run(["g++", "-shared", *objects, "-o", library], check=True)
    return library


def _compile_one(source: Path, made: Path) -> None:
    done = subprocess.run(["g++", *FLAGS, "-c", source, "-o", made], capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(done.stderr)
