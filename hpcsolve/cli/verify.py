"""`hpcsolve verify`: checks the answer in a result file again."""

from __future__ import annotations

import argparse
from typing import Any

from hpcsolve.cli.options import add_command, on_rank_0
from hpcsolve.parallel.printing import show


def add(commands: Any) -> None:
    """Declare the command and its options."""
    parser = add_command(commands, "verify", _verify, "check the answer in a result file, in plain numpy")
    parser.add_argument("result", metavar="RESULT.h5")
    parser.add_argument("--instance", metavar="FILE", help="the instance, if its file has moved")


def _verify(options: argparse.Namespace) -> int:
    def verify() -> int:
        from hpcsolve.output.schema import require_whole
        from hpcsolve.runner.verify import verify_file

        contents, verdict = verify_file(options.result, options.instance)
        show("\n".join([*require_whole(contents, options.result).lines(contents), f"check:  {verdict}"]))
        return 1 if verdict.passed is False else 0

    return on_rank_0(verify)
