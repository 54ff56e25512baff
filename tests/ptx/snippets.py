"""PTX for the tests of single instructions: a kernel in which thread i works on the i-th values of some arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ptx.interpreter import Interpreter

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
WIDTHS = {"pred": 1, "f32": 32, "f64": 64} | {f"{kind}{width}": width for kind in "usb" for width in (8, 16, 32, 64)}
REGISTERS = """
    .reg .pred %p<20>; .reg .b16 %rs<20>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<20>; .reg .f64 %fd<20>;
"""

Number = int | float


def width(name: str) -> int:
    """Return the bits of a type of PTX, 32 for pairs (u16x2)."""
    return WIDTHS.get(name, 32)


def signed(x: int, bits: int) -> int:
    """Return the number that the low bits represent in two's complement."""
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def value(x: int, name: str) -> int:
    """Return the number that a pattern of bits represents in a type, which is signed or not."""
    return signed(x, width(name)) if name[0] == "s" else x & ((1 << width(name)) - 1)


def patterns(bits: int, rng: np.random.Generator) -> list[int]:
    """Return patterns of bits that are likely to reveal a mistake, and random ones."""
    top = 1 << (bits - 1)
    edges = [0, 1, 2, 3, 5, 7, 31, 32, 33, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2]
    return [x % (2 * top) for x in edges] + [int.from_bytes(rng.bytes(8), "little") % (2 * top) for _ in range(18)]


def load(place: int, bits: int) -> str:
    """Return the PTX that loads this thread's value of array `place` into the array's register."""
    if bits == 1:
        return f"ld.global.u64 %rd3{place}, [%rd{place}]; setp.ne.u64 %p{place}, %rd3{place}, 0;"
    return f"ld.global.u{bits} {register(place, bits)}, [%rd{place}];"


def register(place: int, bits: int) -> str:
    """Return the register of array `place` for values of so many bits."""
    return f"{ {1: '%p', 16: '%rs', 32: '%r', 64: '%rd1'}[bits] }{place}"


def computed(instruction: str, sources: Sequence[str], result: str, *columns: list[int]) -> list[int]:
    """Return the results of an instruction for columns of numbers.

    Parameters
    ----------
    instruction
        With {0}, {1}, ... for the sources' registers and {d} for the result's.
    sources, result
        Types of PTX.
    columns
        For each source a list with the bits of each thread's value.
    """
    bits = [width(name) for name in sources]
    names = [register(place, one) for place, one in enumerate(bits)]
    out = width(result)
    body = [load(place, one) for place, one in enumerate(bits)]
    body += [instruction.format(*names, d=register(9, out)) + ";"]
    body += ["selp.u64 %rd19, 1, 0, %p9;"] if out == 1 else []
    body += [f"st.global.u{64 if out == 1 else out} [%rd9], {register(9, 64 if out == 1 else out)};"]
    arrays = [np.array(column, np.uint64) for column in columns]
    made = np.zeros(len(arrays[0]), np.uint64)
    assert launched(kernel(len(arrays), body), "one", 1, len(made), *arrays, made) == ""
    return made.tolist()


def kernel(arrays: int, body: Sequence[str]) -> str:
    """Return a kernel `one` in which %rd0, %rd1, ... point to this thread's place in the arrays, %rd9 in the result."""
    places = [*range(arrays), 9]
    lines = [f"ld.param.u64 %rd{place}, [one_param_{k}]; add.s64 %rd{place}, %rd{place}, %rd20;"
             for k, place in enumerate(places)]
    parameters = ", ".join(f".param .u64 one_param_{k}" for k in range(len(places)))
    where = "mov.u32 %r30, %tid.x; mul.wide.u32 %rd20, %r30, 8;"
    return f"{HEAD}.visible .entry one({parameters})\n{{{REGISTERS}{where}\n" + "\n".join([*lines, *body, "ret;\n}"])


def launched(text: str, name: str, grid: int, block: int, *arguments: Any, **settings: Any) -> str:
    """Run a kernel of a text. Return what is wrong, or an empty string."""
    return Interpreter().load(text).launch(name, grid, block, *arguments, **settings)


def table(types: Sequence[str], seed: int = 0) -> list[list[int]]:
    """Return columns of bits, one for each type, in which all pairs of edges of the first two types meet."""
    rng = np.random.default_rng(seed)
    first, second, *rest = [patterns(width(name), rng) for name in types] + [[0]] * (2 - len(types))
    columns = [[a for a in first for _ in second], [b for _ in first for b in second]]
    columns += [[int(x) for x in rng.choice(np.array(one, object), len(columns[0]))] for one in rest]
    return columns[: len(types)]


def check(instruction: str, sources: Sequence[str], result: str, expected: Callable[..., int | None]) -> None:
    """Compare an instruction with a Python function of its sources, which is None where the result is undefined."""
    columns = table(sources)
    for *given, got in zip(*columns, computed_in_parts(instruction, sources, result, columns)):
        wanted = expected(*(value(x, name) for x, name in zip(given, sources)))
        if wanted is not None:
            assert got == wanted & ((1 << width(result)) - 1), (instruction, [hex(x) for x in given], hex(got), wanted)


def computed_in_parts(
    instruction: str, sources: Sequence[str], result: str, columns: list[list[int]]
) -> list[int]:
    """Return the same as `computed`, from blocks of at most 1024 threads."""
    made: list[int] = []
    for begin in range(0, len(columns[0]), 1024):
        made += computed(instruction, sources, result, *(column[begin : begin + 1024] for column in columns))
    return made


def real(x: float, name: str) -> int:
    """Return the bits of a number as f32 or f64."""
    return int(np.array(x, np.float32 if name == "f32" else np.float64).view(np.uint32 if name == "f32" else np.uint64))


def reals(column: NDArray[Any]) -> list[int]:
    """Return the bits of floats."""
    return [int(x) for x in column.view(np.uint32 if column.dtype == np.float32 else np.uint64)]
