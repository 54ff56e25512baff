"""TSPTW files: a matrix of travelling times, then a time window for each city.

Source: M. Lopez-Ibanez, instances of the travelling salesman problem with time windows. The first line has the number
n of cities, the next n lines have the matrix, n numbers each, and n more lines have `earliest latest`. A time of travel
includes the service at the city that it leaves. The first city is the depot: a tour leaves it at its earliest time and
returns by its latest. `#` begins a comment. Cities are numbered from 0.

The published values of these files are sums of travelling times (`objective = "sum"`); another objective of them is the
time of the return (`"finish"`). TSPLIB files with windows, as LKH-3 reads them, are read by `tsplib.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from hpcsolve.formats.files import InputFile, decode, words
from hpcsolve.problems.rounding import BadNumber, Precision, costs_of, is_number
from hpcsolve.problems.tsp import Tsp, from_costs, require_memory
from hpcsolve.problems.windows import windows_beside
from hpcsolve.wording import counted, shown

_COUNT = re.compile(r"[1-9]\d{0,8}", re.ASCII)
_PROBE = 1 << 20
"""Bytes in which the first two lines end."""


def looks_like_tsptw(content: bytes) -> bool:
    """Return whether the first line has a whole number alone, from 2 on, and the second one as many numbers.

    With 1 it could be a table of costs with a row too many.
    """
    first, second = [*islice(_lines(content[:_PROBE]), 2), (0, []), (0, [])][:2]
    one = len(first[1]) == 1 and _COUNT.fullmatch(first[1][0]) is not None
    return one and 1 < len(second[1]) == int(first[1][0]) and all(map(is_number, second[1]))


def read_tsptw(file: InputFile, precision: Precision | None = None) -> Tsp:
    """Return the problem of a TSPTW file, with its windows.

    Raises
    ------
    InputError
        With file and line: a line has too many or too few numbers, something is no number, or a window is empty.
    """
    lines = list(_lines(file.content))
    if not lines or len(lines[0][1]) != 1 or not _COUNT.fullmatch(lines[0][1][0]):
        found = shown(" ".join(lines[0][1])) if lines else "nothing"
        line = lines[0][0] if lines else file.last_line
        raise file.error(f"expected the number of cities alone on the first line, found {found}", line)
    n = int(lines[0][1][0])
    for row, (line, texts) in enumerate(lines[1 : 2 * n + 1]):
        count, what = (n, f"the travelling times from city {row}") if row < n else \
            (2, f"the window of city {row - n}, earliest and latest")
        if len(texts) != count:
            wanted_numbers = f"expected {what} ({counted(count, 'number')})"
            raise file.error(f"{wanted_numbers}, found {counted(len(texts), 'number')}", line)
    if len(lines) != 2 * n + 1:
        at = lines[min(2 * n + 1, len(lines) - 1)][0]
        what = f"{counted(n, 'city')} are {n} lines of travelling times and {n} of windows"
        raise file.error(f"{what}, but there are {len(lines) - 1} lines; the file may be damaged", at)
    require_memory(n)
    costs = [text for _, texts in lines[1 : n + 1] for text in texts]
    for index in range(0, n * n, n + 1):
        costs[index] = "0" if is_number(costs[index]) else costs[index]
    windows = lines[n + 1 :]
    for line, texts in lines[1:]:
        for text in texts:
            if not is_number(text):
                raise file.error(f"expected a number, found {shown(text)}", line)
    try:
        exact = costs_of(costs, n, precision, file.name)
    except BadNumber as problem:
        row, column = divmod(problem.index, n)
        message = f"the travelling time from city {row} to city {column} {problem.reason}"
        raise file.error(message, lines[1 + row][0]) from None
    try:
        times = [*(texts[0] for _, texts in windows), *(texts[1] for _, texts in windows), *["0"] * n]
        scaled, found_windows = windows_beside(exact, n, times)
    except BadNumber as problem:
        column, city = divmod(problem.index, n)
        message = f"the {('earliest', 'latest')[column]} time of city {city} {problem.reason}"
        raise file.error(message, windows[city][0]) from None
    tsp = from_costs(scaled.values.reshape(n, n), file.stem, scale=scaled.scale, rounding=scaled.rounding)
    return replace(tsp, windows=found_windows)


def _lines(content: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the words of each line that is neither blank nor a comment."""
    for number, line in enumerate(decode(content).split("\n"), start=1):
        found = words(line.partition("#")[0])
        if found:
            yield number, found
