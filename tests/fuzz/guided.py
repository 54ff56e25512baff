"""Lets coverage guide the damage (atheris): a process for each reader, which looks for inputs that reach new lines.

    python -m tests.fuzz.guided READER --runs 40000 --kept FOLDER
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imported with instrumentation in the processes that atheris guides
    from tests.fuzz.targets import Target

LARGEST = 4096
"""Most bytes of an input. The first byte chooses the good file in whose place it is read."""
LIMIT_MB = 2048
"""Memory at which a run counts as crashed, in MiB."""
INSTRUMENTED = ("hpcsolve", "networkx.readwrite", "csv", "json", "xml")


def guided(found: list[Target], runs: int, processes: int, kept: Path) -> tuple[dict[str, list[Path]], int]:
    """Guide all targets in processes of their own, and return the failures, with files for each, and the runs done."""
    chosen = [target for target in found if target.guided]
    each = -(-runs // len(chosen))
    failures: dict[str, list[Path]] = {}
    done = 0
    with ThreadPoolExecutor(processes) as pool:
        outputs = pool.map(lambda target: _run(target.name, each, kept), chosen)
        for target, output in zip(chosen, outputs, strict=True):
            for line in re.findall(r"^failed: (.*)", output, re.M):
                what, _, path = line.rpartition(": ")
                failures.setdefault(f"{target.name}, guided: {what}", []).append(Path(path))
            if "ended: " not in output:
                failures.setdefault(f"{target.name}, guided: the process died: {output[-300:]!r}", []).append(kept)
            done += sum(int(number) for number in re.findall(r"^ended: (\d+) runs", output, re.M))
            print(f"{target.name}: {_figures(output)}", flush=True)
    return failures, done


def _figures(output: str) -> str:
    covered = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", output) or [("?", "?", "?")]
    ended = re.search(r"^ended: (.*)", output, re.M)
    return f"{ended[1] if ended else 'DIED'}; {covered[-1][0]} branches, {covered[-1][2]} inputs kept by libFuzzer"


def _run(name: str, runs: int, kept: Path) -> str:
    command = [sys.executable, "-m", "tests.fuzz.guided", name, "--runs", str(runs), "--kept", str(kept)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return done.stdout + done.stderr


def main() -> None:
    """Guide one target."""
    import atheris

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target")
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--kept", type=Path, required=True)
    options = parser.parse_args()
    with atheris.instrument_imports(include=list(INSTRUMENTED)):
        import hpcsolve

        for module in pkgutil.walk_packages(hpcsolve.__path__, "hpcsolve."):
            if not re.search(r"__main__|\.cuda|\.mpi$|\.jobs|cuda_src|\.plot", module.name):
                importlib.import_module(module.name)
        from tests.fuzz.targets import solved_targets, text_targets
    folder = Path(tempfile.mkdtemp(prefix="guided-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    found = text_targets()
    if options.target not in [target.name for target in found]:
        (folder / "jobs").mkdir()
        found = solved_targets(folder / "jobs")
    _guide(next(target for target in found if target.name == options.target), options.runs, options.kept, folder)


def _guide(target: Target, runs: int, kept: Path, folder: Path) -> None:
    """Run libFuzzer in this process, which it ends. Failures are printed and kept, and the search goes on."""
    import atheris

    from tests.fuzz.judge import READ, outcome

    corpus, work = folder / "corpus", folder / "work"
    corpus.mkdir()
    work.mkdir()
    for number, sample in enumerate(target.seeds):
        assert outcome(sample, work, sample.content) == READ
        (corpus / f"seed{number}").write_bytes(bytes([number]) + sample.content)
    counts: Counter[str] = Counter()

    def one(data: bytes) -> None:
        if data:
            counts["runs"] += 1
            _try(target, data, work, kept, counts)
        if counts["runs"] == runs:
            said = f"ended: {runs} runs, {counts['read']} read, {counts['failed']} failed, {counts['kinds']} kinds"
            print(said, flush=True)

    def other(data: bytes, size: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.5:
            return bytes(atheris.Mutate(data, size))
        return data[:1] + target.mutate(data[1:], chance)[: size - 1]

    words = [sys.argv[0], f"-runs={runs + len(target.seeds) + 2}", f"-max_len={LARGEST}", "-timeout=30", "-seed=1",
             f"-rss_limit_mb={LIMIT_MB}", f"-artifact_prefix={kept}/", str(corpus)]
    atheris.Setup(words, one, custom_mutator=other)
    atheris.Fuzz()


def _try(target: Target, data: bytes, work: Path, kept: Path, counts: Counter[str]) -> None:
    from tests.fuzz.judge import outcome
    from tests.fuzz.program import keep, place, required

    number = data[0] % len(target.seeds)
    try:
        counts[required(outcome(target.seeds[number], work, data[1:], slow=10.0))] += 1  # instrumented code is slow
    except Exception as error:  # noqa: BLE001 (what is not expected is what we look for)
        counts["failed"] += 1
        what = place(error, work)
        if not counts[what]:
            counts["kinds"] += 1
            print(f"failed: {what}: {keep(kept, target, target.seeds[number], number, data[1:])}", flush=True)
        counts[what] += 1


if __name__ == "__main__":
    main()
