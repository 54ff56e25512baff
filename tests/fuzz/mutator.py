"""Small damages to the bytes, words and lines of a file, as chance has it, and texts of the words of good files."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from hypothesis import strategies as st

SPLICES = [
    b"\0", b"\n", b" ", b"\t", b"\r", b"\x0b", b"\x1c", b"\x85", b"\xa0", b"\xff", b"\xc2\x85", b"\xe2\x80\xa8",
    b"\xef\xbb\xbf", b"-", b"+", b".", b",", b";", b":", b'"', b"'", b"#", b"%", b"=", b"[", b"]", b"{", b"}",
    b"\\", b"=1\n", b"e", b"_", b"0", b"-1", b"1.5", b"0x1F", b"1e999", b"1e-30", b"nan", b"inf", b"-inf",
    b"99999999999999999999", b"9223372036854775807", b"18446744073709551615", b"4294967296", b"1000000",
    b"1048576", b"4" * 5000, b"0." + b"7" * 500, b" 1" * 300, b"1 2", b"a ", b"E ", b"c ", b"p ", b"q ", b"T ",
    b"v 1 0 0\n", b"p sp 1 1\n", b"p tw 3 2\n", b"SECTION Graph\n", b"END\n", b"EOF\n", b"NODE_COORD_SECTION\n",
    b"EDGE_WEIGHT_SECTION\n", b"DIMENSION: 7\n", b"TYPE: ATSP\n", b"[stop]\n", b"[a.b]\n", b"seed = 1\n",
    b"(" * 2000, b"[" * 2000, b"{a=" * 500,
]


def mutant(content: bytes, chance: random.Random) -> bytes:
    """Return the content with one to three small damages."""
    for _ in range(chance.randint(1, 3)):
        content = chance.choice((_damaged_bytes, _damaged_words))(content, chance) or b"x"
    return content


def _damaged_bytes(content: bytes, chance: random.Random) -> bytes:
    """Return the content with a splice, a piece dropped or doubled, a changed byte, or a cut."""
    at, width = chance.randrange(len(content) + 1), chance.choice((1, 1, 5, 60))
    before, piece, after = content[:at], content[at : at + width], content[at + width :]
    return chance.choice((
        before + chance.choice(SPLICES) + piece + after,
        before + after,
        before + piece + piece + after,
        before + bytes([chance.randrange(256)]) + content[at + 1 :],
        before,
    ))


def _damaged_words(content: bytes, chance: random.Random) -> bytes:
    """Return the content with a word or line replaced, dropped, doubled, or exchanged with another one."""
    parts = re.split(chance.choice((rb"(\n)", rb"(\s+)", rb"([\s:,;=]+)")), content)
    first, second = (2 * chance.randrange(len(parts) // 2 + 1) for _ in range(2))
    kind = chance.randrange(4)
    if kind == 0:
        parts[first] = chance.choice(SPLICES)
    elif kind == 1:
        del parts[first : first + 2]
    elif kind == 2:
        parts[first : first + 1] = [parts[first], b" " if first + 1 == len(parts) else parts[first + 1], parts[first]]
    else:
        parts[first], parts[second] = parts[second], parts[first]
    return b"".join(parts)


def mutants_of(content: bytes) -> st.SearchStrategy[bytes]:
    """Return the strategy of a content with one to three small damages."""
    return st.randoms(use_true_random=False).map(lambda chance: mutant(content, chance))


def texts_of_words_in(contents: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Return the strategy of texts that begin like one of these contents and go on with words of all of them."""
    known = {word for content in contents for word in re.findall(rb"[^\s,;:]+|[,;:]", content)}
    words = sorted(known | set(SPLICES))
    line = st.lists(st.sampled_from(words), max_size=8).map(b" ".join)
    heads = [content[:at] for content in contents for at in (0, *(m.end() for m in re.finditer(rb"\n", content)))]
    lines = st.lists(line, max_size=8).map(b"\n".join)
    return st.builds(lambda head, rest: head + rest + b"\n", st.sampled_from(heads), lines)
