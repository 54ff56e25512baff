"""`hpcsolve build`: compiles the kernels for other machines, such as the compute nodes of a cluster."""

from __future__ import annotations

import argparse
from typing import Any

from hpcsolve.cli.options import add_command, on_rank_0
from hpcsolve.errors import InputError
from hpcsolve.parallel.printing import show


def add(commands: Any) -> None:
    """Declare the command and its options."""
    text = "compile all kernels for CPUs or GPUs of other machines that share this cache, which then need no compiler"
    parser = add_command(commands, "build", _build, text)
    text = "a CPU as g++ names it, such as znver4 or x86-64-v4; may be repeated"
    parser.add_argument("--cpu", action="append", default=[], metavar="NAME", help=text)
    text = "the architecture of a GPU, such as sm_90; may be repeated"
    parser.add_argument("--gpu", action="append", default=[], metavar="NAME", help=text)


def _build(options: argparse.Namespace) -> int:
    def build() -> int:
        from hpcsolve.device.prebuild import check_target
        from hpcsolve.runner.ahead import build_for_target

        wanted = [*((name, False) for name in options.cpu), *((name, True) for name in options.gpu)]
        if not wanted:
            raise InputError("name the CPU or the GPU to compile for: --cpu znver4, --gpu sm_90")
        for name, is_gpu in wanted:
            check_target(name, is_gpu)
        for name, is_gpu in wanted:
            show(f"built:  {build_for_target(name, is_gpu, show)}")
        return 0

    return on_rank_0(build)
