"""Loads, stores, atomics, local memory and parameters of the interpreter, against numpy."""


import numpy as np
import pytest

from tests.ptx.snippets import HEAD, REGISTERS, kernel, launched, signed


def run(body, count=1, *arrays):
    """Return what threads store at [%rd9], when the arrays are at %rd0, %rd1, ..."""
    out = np.zeros(count, np.uint64)
    assert launched(kernel(len(arrays), [body]), "one", 1, count, *arrays, out) == ""
    return out.tolist()


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_loads_of_all_widths_extend_zeros_or_signs(bits):
    word = 0x80F1C3D5E7968574
    array = np.array([word], np.uint64)
    low = word & ((1 << bits) - 1)
    assert run(f"ld.global.u{bits} %rd1, [%rd0]; st.global.u64 [%rd9], %rd1;", 1, array) == [low]
    wanted = signed(low, bits) & (2**64 - 1)
    assert run(f"ld.global.s{bits} %rd1, [%rd0]; st.global.u64 [%rd9], %rd1;", 1, array) == [wanted]


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_stores_change_no_other_byte(bits):
    body = f"mov.u64 %rd1, 0x1122334455667788; st.global.u64 [%rd9], -1; st.global.u{bits} [%rd9], %rd1;"
    mask = (1 << bits) - 1
    assert run(body) == [(2**64 - 1) & ~mask | 0x1122334455667788 & mask]


@pytest.mark.parametrize(("vector", "bits"), [("v2", 32), ("v4", 32), ("v2", 64), ("v4", 16)])
def test_vectors(vector, bits):
    parts = int(vector[1])
    element = {16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]
    numbers = np.arange(1, 1 + 16 * 8 // bits).astype(element)
    out = np.zeros(parts, element)
    letter = {16: "%rs", 32: "%r", 64: "%rd2"}[bits]
    names = ", ".join(f"{letter}{k + 1}" for k in range(parts))
    turned = ", ".join(f"{letter}{k + 1}" for k in reversed(range(parts)))
    body = f"ld.global.{vector}.u{bits} {{{names}}}, [%rd0]; st.global.{vector}.u{bits} [%rd9], {{{turned}}};"
    assert launched(kernel(1, [body]), "one", 1, 1, numbers, out) == ""
    assert out.tolist() == numbers[:parts][::-1].tolist()


def test_bytes_that_the_compiler_does_not_use_may_be_unwritten():
    body = """.shared .align 16 .b8 four[16]; st.shared.v2.u32 [four], {5, 6}; st.shared.u32 [four+8], 7;
        .pragma "used_bytes_mask 4095"; ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [four]; mov.b64 %rd1, {%r1, %r3};
        st.global.u64 [%rd9], %rd1;"""
    assert run(body) == [5 + (7 << 32)]
    all_used = kernel(0, [body.replace("4095", "65535")])
    message = launched(all_used, "one", 1, 1, np.zeros(1, np.uint64))
    assert "reads 16 bytes of shared memory, at offset 0, that nobody has written" in message


OPERATIONS = {
    "add": lambda old, x: old + x,
    "min": min,
    "max": max,
    "and": lambda old, x: old & x,
    "or": lambda old, x: old | x,
    "xor": lambda old, x: old ^ x,
    "exch": lambda old, x: x,
    "inc": lambda old, x: 0 if old >= x else old + 1,
    "dec": lambda old, x: x if old == 0 or old > x else old - 1,
}
ATOMICS = [f"{name}.{kind}" for name, kinds in {
    "add": "u32 u64", "min": "u32 s32 u64 s64", "max": "u32 s32 u64 s64", "and": "b32 b64", "or": "b32 b64",
    "xor": "b32 b64", "exch": "b32 b64", "inc": "u32", "dec": "u32"}.items() for kind in kinds.split()]
PAIRS = [(5, 9), (9, 5), (2**63 + 1, 7), (7, 2**63 + 1), (2**31, 3), (3, 2**31), (2**64 - 1, 2**64 - 1), (0, 4)]


@pytest.mark.parametrize("space", ["global", "shared", "generic"])
@pytest.mark.parametrize("atomic", ATOMICS)
def test_atomics(atomic, space):
    name, kind = atomic.split(".")
    bits, mask = int(kind[1:]), (1 << int(kind[1:])) - 1
    dot = "" if space == "generic" else f".{space}"
    at = {"global": "%rd9", "shared": "cell", "generic": "%rd8"}[space]
    fill = f"ld.global.u{bits} %rd1, [%rd0]; st{dot}.u{bits} [{at}], %rd1; ld.global.u{bits} %rd2, [%rd5];"
    body = f""".shared .align 8 .b8 cell[8];
        mov.u64 %rd7, cell; cvta.shared.u64 %rd8, %rd7; add.s64 %rd5, %rd0, 8;
        {fill} atom{dot}.{name}.{kind} %rd3, [{at}], %rd2; red{dot}.{name}.{kind} [{at}], %rd2;
        ld{dot}.u{bits} %rd4, [{at}]; st.global.u64 [%rd9], %rd3; st.global.u64 [%rd9+8], %rd4;"""
    for old, x in PAIRS:
        out = np.zeros(2, np.uint64)
        text = kernel(1, [body])
        assert launched(text, "one", 1, 1, np.array([old, x], np.uint64), out) == ""
        a, b = (signed(n, bits) if kind[0] == "s" else n & mask for n in (old, x))
        once = OPERATIONS[name](a, b)
        once = signed(once, bits) if kind[0] == "s" else once & mask
        assert out.tolist() == [a & mask, OPERATIONS[name](once, b) & mask]


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_compare_and_swap(bits):
    body = (f"st.global.u64 [%rd9], 5; atom.global.cas.b{bits} %rd1, [%rd9], 5, 8; "
            f"atom.global.cas.b{bits} %rd2, [%rd9], 5, 9; ld.global.u64 %rd3, [%rd9]; "
            "mad.lo.u64 %rd4, %rd1, 100, %rd2; mad.lo.u64 %rd4, %rd4, 100, %rd3; st.global.u64 [%rd9], %rd4;")
    assert run(body) == [50808]


def test_a_sum_of_floats():
    body = "mov.f64 %fd1, 0d3FF8000000000000; atom.global.add.f64 %fd2, [%rd9], %fd1; red.global.add.f64 [%rd9], %fd1;"
    assert np.array(run(body), np.uint64).view(np.float64) == [3.0]


def test_all_threads_of_all_blocks_add_up():
    text = HEAD + ".visible .entry one(.param .u64 out) {" + REGISTERS + """
        ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
        mov.u32 %r5, %nctaid.x; mad.lo.u32 %r4, %r2, %r3, %r1; red.global.add.u32 [%rd1], %r4;
        red.global.max.u32 [%rd1+4], %r5; ret; }"""
    out = np.zeros(2, np.uint32)
    assert launched(text, "one", 5, 70, out, blocks=3) == ""
    assert out.tolist() == [350 * 349 // 2, 5]


def test_local_memory_is_a_threads_own():
    body = """.local .align 8 .b8 mine[64]; .local .align 4 .b8 other[4];
        mov.u64 %rd1, mine; cvta.local.u64 %rd2, %rd1; mov.u32 %r1, %tid.x; mov.u32 %r2, 0;
        $again: mul.wide.u32 %rd3, %r2, 8; add.s64 %rd4, %rd1, %rd3; mad.lo.u32 %r3, %r1, 10, %r2;
        cvt.u64.u32 %rd6, %r3; st.local.u64 [%rd4], %rd6; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 8; @%p1 bra $again;
        st.local.u32 [other], %r1; cvta.to.local.u64 %rd8, %rd2; ld.local.u64 %rd7, [%rd8+16]; ld.u64 %rd10, [%rd2+56];
        ld.local.u32 %rd11, [other]; add.s64 %rd7, %rd7, %rd10; mad.lo.s64 %rd7, %rd11, 1000, %rd7;
        st.global.u64 [%rd9], %rd7;"""
    assert run(body, 40) == [10 * t + 2 + 10 * t + 7 + 1000 * t for t in range(40)]


CALL = HEAD + """
.func (.param .b32 back) less(.param .b32 a, .param .align 16 .b8 pair[16]) {
    .reg .b32 %r<5>; .reg .b64 %rd<5>; .reg .pred %p<3>; .local .align 8 .b8 own[16];
    ld.param.u32 %r1, [a]; ld.param.v2.u64 {%rd1, %rd2}, [pair]; mov.u64 %rd3, own; st.local.u64 [%rd3+8], %rd2;
    ld.local.u64 %rd4, [own+8]; sub.s64 %rd1, %rd1, %rd4; cvt.u32.u64 %r2, %rd1; sub.u32 %r3, %r1, %r2;
    setp.gt.s32 %p1, %r3, 5; mov.u32 %r4, %r3; @!%p1 bra $end;
    { .param .b32 x; st.param.b32 [x+0], %r3; .param .align 16 .b8 y[16]; st.param.b64 [y+0], 3; st.param.b64 [y+8], 1;
      .param .b32 z; call.uni (z), less, (x, y); ld.param.b32 %r4, [z+0]; }
    $end: st.param.b32 [back+0], %r4; ret; }
.visible .entry one(.param .u64 out) {""" + REGISTERS + """
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
    { .param .b32 x; st.param.b32 [x+0], %r1; .param .align 16 .b8 y[16]; st.param.v2.b64 [y], {9, 7};
      .param .b32 z; call.uni (z), less, (x, y); ld.param.b32 %r2, [z+0]; }
    st.global.u32 [%rd1], %r2; ret; }"""


def test_functions_that_call_themselves():
    def less(a):
        return a - 2 if a - 2 <= 5 else less(a - 2)

    out = np.zeros(40, np.int32)
    assert launched(CALL, "one", 1, 40, out) == ""
    assert out.tolist() == [less(a) for a in range(40)]


def test_a_branch_by_index():
    body = """mov.u32 %r1, %tid.x; mov.u32 %r2, 7;
        $targets: .branchtargets $a, $b, $c;
        brx.idx %r1, $targets;
        $a: mov.u32 %r2, 10; bra.uni $end;
        $b: mov.u32 %r2, 20;
        $c: add.u32 %r2, %r2, 1;
        $end: st.global.u32 [%rd9], %r2;"""
    assert run(body, 3) == [10, 21, 8]


def test_names_in_an_inner_scope_hide_outer_ones():
    body = """mov.u32 %r1, 5; { .reg .b32 t; mov.u32 t, 6; { .reg .b32 t; mov.u32 t, 70; add.u32 %r1, %r1, t; }
        add.u32 %r1, %r1, t; } st.global.u32 [%rd9], %r1;"""
    assert run(body) == [81]


def test_parameters_of_all_sizes():
    text = HEAD + """.visible .entry one(.param .u32 a, .param .align 8 .b8 b[24], .param .u16 c, .param .u64 out) {
        .reg .b64 %rd<9>; ld.param.u64 %rd1, [out]; ld.param.u32 %rd2, [a]; ld.param.u64 %rd3, [b+16];
        ld.param.s16 %rd4, [c]; st.global.v2.u64 [%rd1], {%rd2, %rd3}; st.global.u64 [%rd1+16], %rd4; ret; }"""
    out = np.zeros(3, np.int64)
    given = (np.uint32(7), np.uint64(1), np.uint64(2), np.uint64(33), np.int16(-4))
    assert launched(text, "one", 1, 1, *given, out) == ""
    assert out.tolist() == [7, 33, -4]
