"""The stub driver's nvcc takes the command that hpcsolve gives to nvcc, runs g++, and wraps the library as a "cubin".

STUB_NVCC chooses the build: `threads` (-DHOST_THREADS: real threads a block, the default), `single` (one thread a
block, vector registers: the library that hpcsolve makes for this CPU, from its cache), `ptx` (the real nvcc,
STUB_REAL_NVCC, makes PTX, which tests/ptx interprets), or `fails` (a compiler error). It is part of the version, and so
of the compile cache's keys.
An option that it does not know is an error, so that a change of hpcsolve's command is noticed. STUB_NVCC_LOG names a
file that gets a line a call.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

COMMON = "-x c++ -std=c++17 -march=native -ffp-contract=off -fno-gnu-unique -fPIC -shared -pthread -Wno-psabi"
FLAVORS = {"threads": "-O2 -DHOST_THREADS", "fails": "-include there-is-no-such-header"}
HOST_LIBRARY = """
import shutil, sys
from pathlib import Path
from hpcsolve.device import build
folder, source, output = map(Path, sys.argv[1:])
build.source_folder = lambda: folder
shutil.copy(build.host_library(source.relative_to(folder).with_suffix("").as_posix()), output)
"""
"""A program that copies the library which hpcsolve builds for this CPU.

That is built without -fno-gnu-unique, but has no unique symbols, which two loaded copies would share.
"""
PTX = "-ptx -std=c++17 -O3 --fmad=false -lineinfo"


def main(arguments: list[str], flavor: str) -> int:
    """Compile or print the version, and return the exit code."""
    real = os.environ.get("STUB_REAL_NVCC", "nvcc")
    if arguments == ["--version"]:
        print(f"nvcc: g++ in its place\nCuda compilation tools, release 0.0, stub {flavor}")
        print(build_text(flavor, real), flush=True)
        return subprocess.run([real, "--version"], check=False).returncode if flavor == "ptx" else 0
    options = command_line().parse_args(arguments)
    if log := os.environ.get("STUB_NVCC_LOG"):
        with open(log, "a") as file:
            file.write(f"{options.source}\n")
    magic = b"STUBPTX1" if flavor == "ptx" else b"STUBCUBN"
    with tempfile.NamedTemporaryFile() as made:
        command = command_of(flavor, options, real, made.name)
        code = subprocess.run(command, check=False).returncode
        image = Path(made.name).read_bytes()
    if code == 0:
        Path(options.output).write_bytes(magic + struct.pack("<Q", len(image)) + image)
    return code


def build_text(flavor: str, real: str) -> str:
    """Return what the result depends on besides the source, for the version and so for the compile cache's keys."""
    if flavor == "single":
        return HOST_LIBRARY + os.environ.get("HPCSOLVE_CXXFLAGS", "")
    return f"{real} {PTX}" if flavor == "ptx" else f"{COMMON} {FLAVORS[flavor]}"


def command_of(flavor: str, options: argparse.Namespace, real: str, output: str) -> list[str]:
    """Return the command that makes the library or the PTX."""
    files = ["-I", options.include, options.source, "-o", output]
    if flavor == "single":
        return [sys.executable, "-c", HOST_LIBRARY, options.include, options.source, output]
    if flavor == "ptx":
        return [real, *PTX.split(), f"-arch={options.arch}", *files]
    return ["g++", *COMMON.split(), *FLAVORS[flavor].split(), *files]


def command_line() -> argparse.ArgumentParser:
    """Return a parser of the options that hpcsolve uses, all of them required."""
    parser = argparse.ArgumentParser(prog="nvcc", allow_abbrev=False)
    parser.add_argument("-cubin", action="store_true", required=True)
    parser.add_argument("-std", choices=["c++17"], required=True)
    parser.add_argument("-O3", action="store_true", required=True)
    parser.add_argument("--fmad", choices=["false"], required=True)
    parser.add_argument("-arch", choices=["sm_80", "sm_90"], required=True)
    parser.add_argument("-I", dest="include", required=True)
    parser.add_argument("-o", dest="output", required=True)
    parser.add_argument("source")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ.get("STUB_NVCC", "threads")))
