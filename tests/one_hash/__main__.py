"""One hash of `/solution` an instance: 1 to 8 ranks, 1 to 3 threads, both MPIs, left alone, or stopped and resumed.

    python -m tests.one_hash                                                # `make test-equal`: an hour on 4 cores
    python -m tests.one_hash --only ants lin318 --ranks 1 2 3 --chains 4

Chains of runs are stopped by USR1 at random moments, and resumed on another number of ranks, by another MPI, or on
another device (the stub driver in place of a GPU). The exit code is 1 if a run fails or two hashes differ.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.faults.conftest import find_mpis
from tests.one_hash.compare import TITLE, Differs, all_ranks, chains_of, compare
from tests.one_hash.instances import INSTANCES, Instance
from tests.stub_driver.build import CannotBuild, Stub, build_stub


def main(arguments: Sequence[str]) -> int:
    """Print a row for each instance, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.one_hash", description=__doc__)
    parser.add_argument("--ranks", nargs="+", type=int, default=list(range(1, 9)))
    parser.add_argument("--chains", type=int, default=6, help="chains of runs that are stopped and resumed")
    parser.add_argument("--only", nargs="+", choices=[one.name for one in INSTANCES], metavar="NAME",
                        help="names of instances")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments and chains")
    options = parser.parse_args(arguments)
    data = Path(os.environ["HPCSOLVE_DATA"]) if os.environ.get("HPCSOLVE_DATA") else None
    instances = [one for one in INSTANCES if not options.only or one.name in options.only]
    with tempfile.TemporaryDirectory() as folder:
        return _compare_all(options, [one for one in instances if data or not one.published], Path(folder), data)


def _compare_all(options: argparse.Namespace, instances: list[Instance], folder: Path, data: Path | None) -> int:
    mpis, stub = list(find_mpis().values()), _stub(folder / "stub")
    print(f"{' and '.join(mpi.name for mpi in mpis)}, ranks {options.ranks}, {'cpu and stub GPUs' if stub else 'cpu'}, "
          f"{options.chains} chains of stopped runs, seed {options.seed}\n{TITLE}", flush=True)
    wrong, ends, stops = [], 0, 0
    for instance in instances:
        chance = random.Random(f"{options.seed} {instance.name}")
        chains = chains_of(mpis, options.ranks, stub, options.chains, chance)
        try:
            seen = compare(instance, folder / instance.name, data, all_ranks(mpis, options.ranks, stub), chains, chance)
        except Differs as difference:
            wrong.append(instance.name)
            print(f"{instance.name}: {difference}", flush=True)
            continue
        if len(set(seen.hashes.values())) > 1:
            wrong.append(instance.name)
            print("".join(f"    {found}  {how}\n" for how, found in seen.hashes.items()), end="")
        print(seen.row(instance.name), flush=True)
        ends, stops = ends + len(seen.hashes), stops + seen.stops
    print(f"{len(instances)} instances, {ends} answers, {stops} stops: "
          + (f"wrong: {', '.join(wrong)}" if wrong else "one hash an instance"))
    return 1 if wrong else 0


def _stub(folder: Path) -> Stub | None:
    try:
        return build_stub(folder)
    except CannotBuild:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
