"""Ant System beside the study of Zhou, He and Qiu: Tables C1 to C6 and Figure C1."""

from __future__ import annotations

import argparse
from pathlib import Path

from jobs.benchmarks.ants import charts, published, quality, speed
from jobs.benchmarks.ants.instances import Instance, read_or_generate
from jobs.benchmarks.ants.speed import Row
from jobs.benchmarks.studies.sizes import chosen

HEAD = """\
Zhou, He and Qiu, "Dynamic strategy based parallel ant colony optimization on GPUs for TSPs": as many ants as cities,
alpha 1, beta 2, rho 0.5, no candidate list, no local search; an i7-4770 and a GTX 780. hpcsolve runs on {device}.
Names: st-group is the study's data-parallel construction, an ant a block, with the whole tour in one launch (KE-ALL);
`:step` launches once a step (KE-ONE); `:no-list` is without the list of unvisited cities (no STC), `:untiled` without
the tiled roulette (no TR); st-dynamic is ST-DYNAMIC; head-tail is hpcsolve's default. All draw from the same
distribution."""
STAND_INS = """\
**Not the study's instances: {names}.** Each is replaced by as many uniform random cities; published times, which depend
on the number of cities above all, stand beside them, published lengths do not. Put the TSPLIB files (`NAME.tsp`, TSPLIB
format) and `optima.csv` (a line `name,optimum,type`, then one for each instance) into `$HPCSOLVE_DATA/tsplib`."""
BLOCKS = [32, 64, 128, 256, 512]
"""Threads of a block in Tables C1 and C2."""
NO_BLOCKS = """\
Not measured: on a CPU a block is one thread, so block sizes matter on a GPU only (`make DEVICE=cuda study-ants`). The
study's own figures are not known here."""
ALONE = "The study's own figures are not known here."
WHOLE, STEP = "st-group", "st-group:step"
PARTS = ["st-group:no-list", "st-group:untiled", "st-dynamic"]


def study(options: argparse.Namespace, folder: Path) -> list[str]:
    """Measure, draw, and return the report in Markdown."""
    instances = {name: read_or_generate(name) for name in _names(options)}
    some = [instances[name] for name in _few(options)]
    fast = speed.measure(list(instances.values()), ["head-tail"], chosen(options, 450, 450, 2400), options.device)
    rows = speed.measure(some, [WHOLE, STEP, *PARTS], 0, options.device)
    cities = {instance.name: instance.tsp.n for instance in instances.values()}
    _draw(fast, rows, cities, folder)
    missing = [instance.stands_for for instance in instances.values() if instance.stands_for]
    device = "one core" if options.device == "cpu" else "a GPU"
    return [
        "# Ant System, beside Zhou, He and Qiu", "", HEAD.format(device=device), "",
        *([STAND_INS.format(names=", ".join(missing)), ""] if missing else []),
        "## Tables C1 and C2: block sizes", "", *_blocks(some, options), "",
        "## Table C3: KE-ALL against KE-ONE", "",
        f"Milliseconds an iteration; in brackets the ratio to KE-ALL's. {ALONE}", "",
        *speed.side_by_side(rows, WHOLE, [STEP]), "",
        "## Table C4 and Figure C1: other GPUs and double precision", "",
        *speed.beside_literature(fast, "head-tail"), "", *speed.beside_reference(fast, "head-tail"), "",
        "## Table C5: strategies side by side", "", _dynamic(), "", *speed.side_by_side(rows, WHOLE, PARTS), "",
        "## Table C6: length of tours", "", *_quality(instances, options),
    ]


def _names(options: argparse.Namespace) -> list[str]:
    default = [name for name in published.INSTANCES if int("".join(filter(str.isdigit, name))) <= 1002]
    return chosen(options, ["ring40"], default, list(published.INSTANCES))


def _few(options: argparse.Namespace) -> list[str]:
    """Return the instances for the study's own strategies, which are slow on a CPU."""
    return _names(options)[:3] if options.device == "cpu" and not options.full else _names(options)


def _draw(fast: list[Row], rows: list[Row], cities: dict[str, int], folder: Path) -> None:
    charts.draw_speed(fast, cities, folder)
    charts.draw_speed_ups(fast, cities, folder)
    launches = [Row(row.instance, row.published_name, {name: row.strategies[name] for name in (WHOLE, STEP)}, {})
                for row in rows]
    parts = [Row(row.instance, row.published_name, {name: row.strategies[name] for name in (WHOLE, *PARTS)}, {})
             for row in rows]
    few = {row.instance: cities[row.instance] for row in rows}
    title = "Table C3: a launch a step against one a tour"
    charts.draw_ratios(launches, WHOLE, few, title, folder / "ant-launches.svg")
    charts.draw_ratios(parts, WHOLE, few, "Table C5: the study's strategies", folder / "ant-strategies.svg")


def _blocks(instances: list[Instance], options: argparse.Namespace) -> list[str]:
    """Return the tables of block sizes for both launches, on a GPU."""
    if options.device == "cpu":
        return [NO_BLOCKS]
    lines = [f"Milliseconds an iteration by the number of threads of a block; in brackets the ratio to 32's. {ALONE}"]
    for strategy in (WHOLE, STEP):
        names = [f"{strategy}:{threads}" for threads in BLOCKS]
        rows = speed.measure(instances, names, 0, options.device)
        lines += ["", *speed.side_by_side(rows, names[0], names[1:])]
    return lines


def _dynamic() -> str:
    """Return a sentence on the published figure of ST-DYNAMIC."""
    ratios = (f"{ratio:g} times as fast as its CPU program on {name}, that is {published.CPU[name] / ratio:.0f} ms"
              for name, ratio in published.DYNAMIC.items())
    return ("Milliseconds an iteration; in brackets the ratio to st-group's. The study has ST-DYNAMIC "
            f"{', '.join(ratios)} an iteration; its fastest strategy took {published.GPU['pr2392']:.0f} ms there. Its "
            "other figures are not known here.")


def _quality(instances: dict[str, Instance], options: argparse.Namespace) -> list[str]:
    names = [name for name in instances if name in published.QUALITY or options.tiny]
    some = [instances[name] for name in chosen(options, names, names[:2], names)]
    seeds, iterations = chosen(options, 3, 3, 10), 5 if options.tiny else published.ITERATIONS
    series = quality.Series(some, ["head-tail", quality.REFERENCE], seeds, iterations)
    return quality.quality(series, None)
