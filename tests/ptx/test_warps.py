"""Instructions at which threads meet, against Python, and the messages where threads do not meet."""


import numpy as np
import pytest

from tests.ptx.interpreter import Interpreter, NotUnderstood
from tests.ptx.snippets import HEAD, kernel, launched

SEEDS = (1, 2, 3)


def started(body, count=32, **settings):
    """Return what is said of threads that store at [%rd9], and what they store. %r1 is the thread."""
    out = np.zeros(count, np.uint64)
    return launched(kernel(0, ["mov.u32 %r1, %tid.x;", body]), "one", 1, count, out, **settings), out.tolist()


def run(body, count=32, **settings):
    """Return what threads store."""
    message, out = started(body, count, **settings)
    assert message == "", message
    return out


def failure(body, count=32, **settings):
    """Return what is said of threads."""
    return started(body, count, **settings)[0]


def source_lane(mode, lane, b, c):
    """Return the lane that a shuffle reads and whether that is in range, as the PTX manual has it."""
    segment, clamp = c >> 8 & 31, c & 31
    most = (lane & segment) | (clamp & ~segment & 31)
    least = lane & segment
    if mode == "up":
        j = lane - b
        return (j, True) if j >= most else (lane, False)
    j = {"down": lane + b, "bfly": lane ^ b, "idx": least | (b & ~segment)}[mode]
    return (j, True) if j <= most else (lane, False)


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("width", [32, 16, 4])
def test_shuffles(mode, width):
    for b in (0, 1, 2, 3, 7, 17, 31):
        c = (32 - width) << 8 | (0 if mode == "up" else 31)
        body = f"""add.u32 %r2, %r1, 1000; shfl.sync.{mode}.b32 %r3|%p1, %r2, {b}, {c}, -1;
            selp.u32 %r4, 1, 0, %p1; mov.b64 %rd1, {{%r3, %r4}}; st.global.u64 [%rd9], %rd1;"""
        lanes = [source_lane(mode, lane, b, c) for lane in range(32)]
        assert run(body) == [1000 + lane + (in_range << 32) for lane, in_range in lanes]


def test_a_shuffle_reads_a_lane_of_each_threads_choice():
    body = """mul.lo.u32 %r2, %r1, %r1; mul.lo.u32 %r4, %r1, 7; and.b32 %r4, %r4, 31;
        shfl.sync.idx.b32 %r3, %r2, %r4, 31, -1; st.global.u32 [%rd9], %r3;"""
    assert run(body, 64) == [(t // 32 * 32 + t * 7 % 32) ** 2 for t in range(64)]


@pytest.mark.parametrize(("test", "chosen"), [
    ("lt.u32 %p1, %r1, 5", lambda t: t < 5),
    ("ge.u32 %p1, %r1, 0", lambda t: True),
    ("gt.u32 %p1, %r1, 99", lambda t: False),
])
def test_votes(test, chosen):
    body = f"""setp.{test}; vote.sync.ballot.b32 %r2, %p1, -1; vote.sync.any.pred %p2, %p1, -1;
        vote.sync.all.pred %p3, %p1, -1; vote.sync.uni.pred %p4, %p1, -1; selp.u32 %r3, 1, 0, %p2;
        selp.u32 %r4, 2, 0, %p3; selp.u32 %r5, 4, 0, %p4; or.b32 %r3, %r3, %r4; or.b32 %r3, %r3, %r5;
        mov.b64 %rd1, {{%r2, %r3}}; st.global.u64 [%rd9], %rd1;"""
    yes = [chosen(t) for t in range(32)]
    flags = any(yes) | all(yes) << 1 | (all(yes) or not any(yes)) << 2
    assert run(body) == [sum(one << t for t, one in enumerate(yes)) | flags << 32] * 32


def test_a_vote_of_some_lanes():
    body = """setp.lt.u32 %p1, %r1, 8; mov.u32 %r2, 0; @!%p1 bra $end; setp.ne.u32 %p2, %r1, 3;
        vote.sync.ballot.b32 %r2, %p2, 255; $end: st.global.u32 [%rd9], %r2;"""
    assert run(body) == [0xF7] * 8 + [0] * 24


def test_matches():
    body = """rem.u32 %r2, %r1, 3; match.any.sync.b32 %r3, %r2, -1; match.all.sync.b32 %r4|%p1, %r2, -1;
        cvt.u64.u32 %rd1, %r2; match.any.sync.b64 %r5, %rd1, -1; xor.b32 %r5, %r5, %r3; add.u32 %r3, %r3, %r5;
        match.all.sync.b32 %r6|%p2, 5, -1; selp.u32 %r7, 1, 0, %p1; selp.u32 %r8, 2, 0, %p2; or.b32 %r7, %r7, %r8;
        add.u32 %r7, %r7, %r4; not.b32 %r6, %r6; add.u32 %r7, %r7, %r6; mov.b64 %rd1, {%r3, %r7};
        st.global.u64 [%rd9], %rd1;"""
    assert run(body) == [sum(1 << t for t in range(32) if t % 3 == own % 3) | 2 << 32 for own in range(32)]


@pytest.mark.parametrize(("name", "reduced"), [
    ("add.u32", sum), ("min.u32", min), ("max.u32", max), ("or.b32", lambda x: int(np.bitwise_or.reduce(x))),
    ("and.b32", lambda x: int(np.bitwise_and.reduce(x))), ("xor.b32", lambda x: int(np.bitwise_xor.reduce(x))),
])
def test_reductions(name, reduced):
    body = f"mad.lo.u32 %r2, %r1, 2654435761, 12345; redux.sync.{name} %r3, %r2, -1; st.global.u32 [%rd9], %r3;"
    numbers = [(t * 2654435761 + 12345) % 2**32 for t in range(32)]
    assert run(body) == [reduced(numbers) % 2**32] * 32


def test_the_least_of_signed_numbers():
    body = "sub.s32 %r2, 7, %r1; redux.sync.min.s32 %r3, %r2, -1; cvt.s64.s32 %rd1, %r3; st.global.u64 [%rd9], %rd1;"
    assert run(body) == [2**64 - 24] * 32


def test_special_registers():
    body = """mov.u32 %r2, %laneid; mov.u32 %r3, %lanemask_lt; mov.u32 %r4, %lanemask_eq; mov.u32 %r5, %lanemask_gt;
        add.u32 %r6, %r3, %r4; add.u32 %r6, %r6, %r5; popc.b32 %r3, %r3; mad.lo.u32 %r3, %r3, 100, %r2;
        mov.u32 %r7, %tid.y; mov.u32 %r8, %ntid.z; mad.lo.u32 %r3, %r7, 1000, %r3; mad.lo.u32 %r3, %r8, 10000, %r3;
        mov.b64 %rd1, {%r3, %r6}; st.global.u64 [%rd9], %rd1;"""
    assert run(body, 40) == [t % 32 * 101 + 10000 + ((2**32 - 1) << 32) for t in range(40)]


REVERSE = """.shared .align 4 .b8 all[512]; mov.u32 %r2, all; mad.lo.u32 %r3, %r1, 4, %r2; st.shared.u32 [%r3], %r1;
    bar.sync 0; sub.u32 %r4, 127, %r1; mad.lo.u32 %r3, %r4, 4, %r2; ld.shared.u32 %r5, [%r3];
    st.global.u32 [%rd9], %r5;"""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_barrier_orders_shared_memory(seed):
    assert run(REVERSE, 128, seed=seed) == list(range(127, -1, -1))
    without = failure(REVERSE.replace("bar.sync 0;", ""), 128, seed=seed)
    assert "a race with a" in without or "nobody has written" in without


def test_barriers_that_count():
    body = """setp.lt.u32 %p1, %r1, 70; bar.red.popc.u32 %r2, 0, %p1; bar.red.and.pred %p2, 0, %p1;
        barrier.sync 0; bar.red.or.pred %p3, 0, %p1; selp.u32 %r3, 1000, 0, %p2; selp.u32 %r4, 2000, 0, %p3;
        add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; st.global.u32 [%rd9], %r2;"""
    assert run(body, 96) == [2070] * 96


def test_threads_that_ended_are_not_waited_for():
    body = "setp.gt.u32 %p1, %r1, 40; @%p1 exit; bar.sync 0; bar.warp.sync -1; st.global.u32 [%rd9], 1;"
    assert run(body, 64) == [1] * 41 + [0] * 23


EXCHANGE = """.shared .align 4 .b8 all[128]; mov.u32 %r2, all; mad.lo.u32 %r3, %r1, 4, %r2; xor.b32 %r4, %r1, 1;
    mad.lo.u32 %r4, %r4, 4, %r2; st.shared.u32 [%r3], %r1; {sync} ld.shared.u32 %r5, [%r4];
    st.global.u32 [%rd9], %r5;"""


@pytest.mark.parametrize("seed", SEEDS)
def test_lanes_that_order_their_memory_by_pairs(seed):
    pairs = "and.b32 %r6, %r1, 30; shl.b32 %r7, 3, %r6; bar.warp.sync %r7;"
    assert run(EXCHANGE.replace("{sync}", pairs), seed=seed) == [t ^ 1 for t in range(32)]
    others = "and.b32 %r6, %r1, 1; mov.u32 %r7, 0x55555555; shl.b32 %r7, %r7, %r6; bar.warp.sync %r7;"
    message = failure(EXCHANGE.replace("{sync}", others), seed=seed)
    assert "a race with a" in message or "nobody has written" in message


# Lane 1 meets lanes 0 and 2, one after the other, at one instruction; lanes 0 and 2 write the same word.
HAND_ON = """.shared .align 4 .b8 cell[4]; setp.gt.u32 %p9, %r1, 2; @%p9 ret; setp.eq.u32 %p0, %r1, 0;
    setp.eq.u32 %p1, %r1, 1; setp.eq.u32 %p2, %r1, 2; @%p0 st.shared.u32 [cell], 5; selp.u32 %r2, 6, 3, %p2; {first}
    mov.u32 %r3, 0; $again: bar.warp.sync %r2; add.u32 %r3, %r3, 1; sub.u32 %r2, 9, %r2; setp.lt.u32 %p4, %r3, 2;
    and.pred %p4, %p4, %p1; @%p4 bra $again; @%p2 st.shared.u32 [cell], 6; st.global.u32 [%rd9], 1;"""


@pytest.mark.parametrize("seed", SEEDS)
def test_order_is_handed_on_from_lane_to_lane(seed):
    assert run(HAND_ON.replace("{first}", ""), seed=seed) == [1] * 3 + [0] * 29
    message = failure(HAND_ON.replace("{first}", "@%p1 mov.u32 %r2, 6;"), seed=seed)
    assert "a race with a write by thread" in message


@pytest.mark.parametrize(("body", "words"), [
    ("and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1; @%p1 bra $odd; bar.warp.sync -1; $odd: bar.warp.sync -1;",
     "the warp has diverged: lane "),
    ("setp.eq.u32 %p1, %r1, 0; selp.u32 %r2, 3, -1, %p1; bar.warp.sync %r2;", " comes with another mask"),
    ("shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xFFFFFFFE;", "own lane is not in the mask"),
    ("setp.eq.u32 %p1, %r1, 3; @%p1 ret; shfl.sync.idx.b32 %r2, %r1, 3, 31, -1;",
     "reads lane 3, which does not take part"),
    ("div.u32 %r2, 5, 0;", "division by 0"),
    ("ld.global.u32 %r2, [%rd9+2];", "is no multiple of 4"),
    ("ld.global.u64 %rd1, [%rd9+256];", "are in no allocation"),
    ("ld.u32 %r2, [%rd9+-4096000];", "are in no allocation"),
    ("mov.u64 %rd1, 0; ld.u32 %r2, [%rd1];", "are in no allocation"),
    ("trap;", "the kernel stops itself"),
])
def test_what_is_wrong_is_told(body, words):
    for seed in SEEDS:
        message = failure(body, seed=seed)
        assert any(one in message for one in words.split("|")), message
        assert message.startswith("one, block 0, thread ") and "(PTX line " in message


@pytest.mark.parametrize(("line", "words"), [
    ("vabsdiff.u32 %r1, %r2, %r3;", "the instruction vabsdiff.u32 is not known here"),
    ("mov.u32 %r1, nothing;", "nothing is not known here"),
    ("mov.u32 %r1, %clock;", "%clock is not known here"),
    ("bra $nowhere;", "no label $nowhere"),
    ("bar.sync 1;", "barriers of some threads of a block are not known here"),
    ("atom.global.add.noftz.bf16 %rs1, [%rd9], %rs2;", "no type at the end"),
    ("call.uni elsewhere, ();", "call of elsewhere, which has no body"),
    ("shfl.idx.b32 %r1, %r2, %r3, %r4;", "shfl.idx.b32 is not known here"),
])
def test_what_is_not_known_is_refused(line, words):
    with pytest.raises(NotUnderstood, match="PTX line") as error:
        Interpreter().load(kernel(0, [line]))
    assert words in str(error.value)


def test_module_variables_are_refused():
    with pytest.raises(NotUnderstood, match="global and constant memory"):
        Interpreter().load(HEAD + ".global .align 4 .u32 counter;")


def test_the_same_seed_gives_the_same_run_and_others_give_others():
    body = "atom.global.add.u32 %r2, [{}], 1; st.global.u32 [%rd9], %r2;"
    text = kernel(1, ["sub.s64 %rd0, %rd0, %rd20;", body.format("%rd0")])

    def order(seed):
        ticket, out = np.zeros(1, np.uint64), np.zeros(64, np.uint64)
        assert launched(text, "one", 1, 64, ticket, out, seed=seed) == ""
        assert sorted(out.tolist()) == list(range(64))
        return out.tolist()

    assert order(1) == order(1) and order(1) != order(2)


def test_blocks_take_turns():
    """A block that waits for another ends if, and only if, both are under way."""
    body = """mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 1; @%p1 atom.global.add.u32 %r3, [%rd9], 1; @%p1 ret;
        $again: ld.relaxed.gpu.global.u32 %r4, [%rd9]; setp.eq.u32 %p2, %r4, 0; @%p2 bra $again;"""
    text = kernel(0, [body])
    assert launched(text, "one", 2, 1, np.zeros(1, np.uint64), blocks=2) == ""
    assert "the kernel does not end" in launched(text, "one", 2, 1, np.zeros(1, np.uint64), blocks=1, steps=10_000)
