"""Single instructions from registers to registers, against Python's integers and numpy's floats."""


import numpy as np
import pytest

from tests.ptx.snippets import check, computed, reals, signed, width

WHOLE = ("u16", "s16", "u32", "s32", "u64", "s64")
BITS = ("b16", "b32", "b64")


def quotient(a, b):
    """Return a / b, towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "min": min,
    "max": max,
}
COMPARED = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("kind", WHOLE)
def test_arithmetic(name, kind):
    check(f"{name}.{kind} {{d}}, {{0}}, {{1}}", [kind, kind], kind, BINARY[name])


@pytest.mark.parametrize("kind", WHOLE)
def test_products_of_twice_the_width(kind):
    bits = width(kind)
    check(f"mul.hi.{kind} {{d}}, {{0}}, {{1}}", [kind, kind], kind, lambda a, b: a * b >> bits)
    check(f"mad.hi.{kind} {{d}}, {{0}}, {{1}}, {{2}}", [kind] * 3, kind, lambda a, b, c: (a * b >> bits) + c)
    check(f"mad.lo.{kind} {{d}}, {{0}}, {{1}}, {{2}}", [kind] * 3, kind, lambda a, b, c: a * b + c)
    if bits < 64:
        wide = f"{kind[0]}{2 * bits}"
        check(f"mul.wide.{kind} {{d}}, {{0}}, {{1}}", [kind, kind], wide, lambda a, b: a * b)
        check(f"mad.wide.{kind} {{d}}, {{0}}, {{1}}, {{2}}", [kind, kind, wide], wide, lambda a, b, c: a * b + c)


@pytest.mark.parametrize("kind", WHOLE)
def test_division_is_towards_zero(kind):
    divisor = f"or.b{width(kind)} {{1}}, {{1}}, 1; "
    check(f"{divisor}div.{kind} {{d}}, {{0}}, {{1}}", [kind] * 2, kind, lambda a, b: quotient(a, b | 1))
    check(f"{divisor}rem.{kind} {{d}}, {{0}}, {{1}}", [kind] * 2, kind, lambda a, b: a - quotient(a, b | 1) * (b | 1))


@pytest.mark.parametrize("kind", ["s16", "s32", "s64"])
def test_signs(kind):
    check(f"neg.{kind} {{d}}, {{0}}", [kind], kind, lambda a: -a)
    check(f"abs.{kind} {{d}}, {{0}}", [kind], kind, abs)


@pytest.mark.parametrize("name", ["add", "min", "max"])
@pytest.mark.parametrize("kind", ["u16", "s16"])
def test_two_values_side_by_side(name, kind):
    def expected(a, b):
        low, high = (BINARY[name](as_kind(a >> k), as_kind(b >> k)) & 0xFFFF for k in (0, 16))
        return high << 16 | low

    def as_kind(x):
        return signed(x, 16) if kind == "s16" else x & 0xFFFF

    check(f"{name}.{kind}x2 {{d}}, {{0}}, {{1}}", ["b32", "b32"], "b32", expected)


@pytest.mark.parametrize("kind", ["pred", *BITS])
def test_logic(kind):
    check(f"and.{kind} {{d}}, {{0}}, {{1}}", [kind, kind], kind, lambda a, b: a & b)
    check(f"or.{kind} {{d}}, {{0}}, {{1}}", [kind, kind], kind, lambda a, b: a | b)
    check(f"xor.{kind} {{d}}, {{0}}, {{1}}", [kind, kind], kind, lambda a, b: a ^ b)
    check(f"not.{kind} {{d}}, {{0}}", [kind], kind, lambda a: ~a)
    check(f"mov.{kind} {{d}}, {{0}}", [kind], kind, lambda a: a)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts_beyond_the_width(bits):
    check(f"shl.b{bits} {{d}}, {{0}}, {{1}}", [f"b{bits}", "u32"], f"b{bits}", lambda a, b: a << min(b, bits))
    for kind in "us":
        name = f"{kind}{bits}"
        check(f"shr.{name} {{d}}, {{0}}, {{1}}", [name, "u32"], name, lambda a, b: a >> min(b, bits))


def reversed_bits(a, bits):
    """Return the bits in the other order."""
    return int(format(a, f"0{bits}b")[::-1], 2)


@pytest.mark.parametrize("bits", [32, 64])
def test_counts_of_bits(bits):
    check(f"clz.b{bits} {{d}}, {{0}}", [f"b{bits}"], "u32", lambda a: bits - a.bit_length())
    check(f"popc.b{bits} {{d}}, {{0}}", [f"b{bits}"], "u32", lambda a: a.bit_count())
    check(f"brev.b{bits} {{d}}, {{0}}", [f"b{bits}"], f"b{bits}", lambda a: reversed_bits(a, bits))
    check(f"bfind.u{bits} {{d}}, {{0}}", [f"u{bits}"], "u32", lambda a: a.bit_length() - 1)
    check(f"bfind.s{bits} {{d}}, {{0}}", [f"s{bits}"], "u32", lambda a: (~a if a < 0 else a).bit_length() - 1)


@pytest.mark.parametrize("bits", [32, 64])
def test_fields_of_bits(bits):
    def inserted(a, b, position, length):
        mask = ((1 << (length & 255)) - 1) << (position & 255)
        return b & ~mask | a << (position & 255) & mask

    def extracted(a, position, length):
        position, length = position & 255, length & 255
        if a < 0 and position + length > bits:
            return a >> min(position, bits)
        field = (a & ((1 << bits) - 1)) >> position & ((1 << length) - 1)
        return signed(field, min(length, bits - position)) if length and position < bits and signs else field

    name = f"b{bits}"
    check(f"bfi.{name} {{d}}, {{0}}, {{1}}, {{2}}, {{3}}", [name, name, "u32", "u32"], name, inserted)
    for kind in "us":
        signs = kind == "s"
        check(f"and.b32 {{1}}, {{1}}, {bits - 1}; and.b32 {{2}}, {{2}}, {bits - 1}; "
              f"bfe.{kind}{bits} {{d}}, {{0}}, {{1}}, {{2}}", [f"{kind}{bits}", "u32", "u32"], f"{kind}{bits}",
              lambda a, b, c: extracted(a, b % bits, c % bits))


def test_funnel_shifts():
    def both(a, b):
        return b << 32 | a

    three, form = ["b32", "b32", "u32"], "{d}, {0}, {1}, {2}"
    check(f"shf.l.wrap.b32 {form}", three, "b32", lambda a, b, c: both(a, b) << c % 32 >> 32)
    check(f"shf.r.wrap.b32 {form}", three, "b32", lambda a, b, c: both(a, b) >> c % 32)
    check(f"shf.l.clamp.b32 {form}", three, "b32", lambda a, b, c: both(a, b) << min(c, 32) >> 32)
    check(f"shf.r.clamp.b32 {form}", three, "b32", lambda a, b, c: both(a, b) >> min(c, 32))


@pytest.mark.parametrize("function", [0xC0, 0xFE, 0x96, 0xE8, 0xCA, 0x01, 0x35])
def test_any_function_of_three_bits(function):
    def expected(a, b, c):
        return sum((function >> ((a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1)) & 1) << k for k in range(32))

    check(f"lop3.b32 {{d}}, {{0}}, {{1}}, {{2}}, {function}", ["b32"] * 3, "b32", expected)


def test_permutations_of_bytes():
    def expected(a, b, selectors):
        whole, made = (b << 32 | a).to_bytes(8, "little"), []
        for k in range(4):
            selector = selectors >> 4 * k & 15
            byte = whole[selector & 7]
            made.append((255 if byte & 128 else 0) if selector & 8 else byte)
        return int.from_bytes(bytes(made), "little")

    check("prmt.b32 {d}, {0}, {1}, {2}", ["b32"] * 3, "b32", expected)


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("name", COMPARED)
def test_comparisons(name, kind):
    check(f"setp.{name}.{kind} {{d}}, {{0}}, {{1}}", [kind, kind], "pred", lambda a, b: int(COMPARED[name](a, b)))


@pytest.mark.parametrize(("name", "joined"), [("and", int.__and__), ("or", int.__or__), ("xor", int.__xor__)])
def test_comparisons_joined_with_a_predicate(name, joined):
    three, form = ["s32", "s32", "pred"], "{0}, {1}, {2}"
    check(f"setp.lt.{name}.s32 {{d}}|%p15, {form}", three, "pred", lambda a, b, c: joined(int(a < b), c))
    check(f"setp.lt.{name}.s32 %p15|{{d}}, {form}", three, "pred", lambda a, b, c: joined(int(a >= b), c))


@pytest.mark.parametrize("kind", ["b16", "u32", "s64"])
def test_selection(kind):
    check(f"selp.{kind} {{d}}, {{0}}, {{1}}, {{2}}", [kind, kind, "pred"], kind, lambda a, b, c: a if c else b)
    check("mov.b64 {d}, 7; @!{0} mov.b64 {d}, 9", ["pred"], "b64", lambda p: 7 if p else 9)


@pytest.mark.parametrize("to", WHOLE)
@pytest.mark.parametrize("origin", WHOLE)
def test_conversions(to, origin):
    check(f"cvt.{to}.{origin} {{d}}, {{0}}", [origin], to, lambda a: a)


@pytest.mark.parametrize("to", ["u32", "s32", "u64", "s64", "s16"])
def test_conversions_from_bytes(to):
    check(f"cvt.{to}.s8 {{d}}, {{0}}", ["b32"], to, lambda a: signed(a, 8))
    check(f"cvt.{to}.u8 {{d}}, {{0}}", ["b32"], to, lambda a: a & 255)


def test_parts_of_a_wide_register():
    check("mov.b64 {d}, {{{0}, {1}}}", ["b32", "b32"], "b64", lambda a, b: b << 32 | a)
    check("mov.b64 {{%r20, {d}}}, {0}", ["b64"], "b32", lambda a: a >> 32)
    check("mov.b64 {{{d}, _}}, {0}", ["b64"], "b32", lambda a: a)
    check("mov.b32 {d}, {{{0}, {1}}}", ["b16", "b16"], "b32", lambda a, b: b << 16 | a)
    check("mov.b32 {{_, {d}}}, {0}", ["b32"], "b16", lambda a: a >> 16)


NUMBERS = [0.0, -0.0, 1.0, -1.5, 0.1, 1e300, -1e300, 3e-310, 123456789.25, np.inf, -np.inf, np.nan, 2.0**40, 0.7, 9.5]
FLOATS = {
    "add.rn": np.add, "add": np.add, "sub.rn": np.subtract, "mul.rn": np.multiply, "div.rn": np.divide, "min": np.fmin,
    "max": np.fmax,
}


def two(dtype):
    """Return two columns in which all pairs of numbers meet."""
    with np.errstate(over="ignore"):
        one = np.array(NUMBERS).astype(dtype)
    return np.repeat(one, len(one)), np.tile(one, len(one))


def same(made, wanted):
    """Compare bits with floats, of which one NaN is like another."""
    got = np.array(made, np.uint32 if wanted.dtype == np.float32 else np.uint64).view(wanted.dtype)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize(("kind", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_floats(name, kind, dtype):
    a, b = two(dtype)
    letter = {"f32": "b32", "f64": "b64"}[kind]
    with np.errstate(all="ignore"):
        wanted = FLOATS[name](a, b)
    same(computed(f"{name}.{kind} {{d}}, {{0}}, {{1}}", [letter] * 2, letter, reals(a), reals(b)), wanted)


@pytest.mark.parametrize(("name", "function"), [
    ("eq", lambda a, b: a == b), ("lt", lambda a, b: a < b), ("ge", lambda a, b: a >= b),
    ("ne", lambda a, b: (a != b) & ~np.isnan(a) & ~np.isnan(b)), ("neu", lambda a, b: a != b),
    ("ltu", lambda a, b: ~(a >= b)), ("equ", lambda a, b: (a == b) | np.isnan(a) | np.isnan(b)),
    ("num", lambda a, b: ~np.isnan(a) & ~np.isnan(b)), ("nan", lambda a, b: np.isnan(a) | np.isnan(b)),
])
def test_comparisons_of_floats(name, function):
    a, b = two(np.float64)
    made = computed(f"setp.{name}.f64 {{d}}, {{0}}, {{1}}", ["b64", "b64"], "pred", reals(a), reals(b))
    assert made == function(a, b).astype(int).tolist()


def test_floats_and_integers():
    a = np.array([0.0, 1.9, -1.9, 1e10, -1e10, 1e30, -1e30, np.nan])
    assert computed("cvt.rzi.s32.f64 {d}, {0}", ["b64"], "u32", reals(a)) == [
        x & 0xFFFFFFFF for x in (0, 1, -1, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0)]
    assert computed("cvt.rzi.u64.f64 {d}, {0}", ["b64"], "u64", reals(a)) == [0, 1, 0, 10**10, 0, 2**64 - 1, 0, 0]
    whole = [0, 1, 2**63 + 1, 2**64 - 1, 2**53 + 1]
    same(computed("cvt.rn.f64.u64 {d}, {0}", ["b64"], "b64", whole), np.array(whole, np.uint64).astype(np.float64))
    same(computed("cvt.rn.f32.s64 {d}, {0}", ["b64"], "b32", whole),
         np.array(whole, np.uint64).view(np.int64).astype(np.float32))
    same(computed("fma.rn.f64 {d}, {0}, {0}, 0dBFF0000000000000", ["b64"], "b64", reals(np.array([1 + 2.0**-30]))),
         np.array([2.0**-29 + 2.0**-60]))
