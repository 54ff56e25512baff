"""The machine code of kernels, as nvdisasm prints it, and the loops in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

SECTION = re.compile(r"^\.section\s+\.text\.(\w+),", re.MULTILINE)
LABEL = re.compile(r"^(\.L_x_\d+|\$\S+):$")
INSTRUCTION = re.compile(r"^/\*[0-9a-f]{4,}\*/\s+(?P<predicate>@\S+\s+)?(?P<name>[A-Z][\w.]*)(?P<operands>[^;]*);")
TARGET = re.compile(r"\.L_x_\d+")
PTX_LINE = re.compile(r'^//## File "\.nv_debug_ptx_txt", line (\d+)')
"""With `nvdisasm -gp`: the line of the PTX that the next instructions were made of."""
SPIN = re.compile(r"ATOMS?\S*\.(CAS|CAST)\b")
"""An atomic that the hardware does not have: it is tried in a loop until no other thread has come in between."""


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes
    ----------
    name
        With its modifiers: `LDG.E.64`.
    guarded
        Whether a predicate may switch it off.
    targets
        The labels that it names.
    line
        The line of the PTX that it was made of, 0 if that is not known.
    """

    name: str
    guarded: bool
    targets: tuple[str, ...]
    line: int = 0

    @property
    def kind(self) -> str:
        """The name without modifiers."""
        return self.name.split(".")[0]


@dataclass(frozen=True)
class Kernel:
    """A kernel's instructions, those of functions that it calls included, and the position of each label."""

    name: str
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]

    def successors(self, position: int) -> list[int]:
        """Return the positions of the instructions that may be executed next.

        A call also returns. `BRA.DIV` leads a warp that has diverged to a copy of a shuffle or vote. No loop needs that
        copy, so the branch is left out.
        """
        each = self.instructions[position]
        if each.kind in ("EXIT", "RET", "KILL") and not each.guarded:
            return []
        jumps = each.kind in ("BRA", "BRX", "CALL") and not each.name.startswith("BRA.DIV")
        targets = [self.labels[target] for target in each.targets if jumps]
        if targets and not each.guarded and each.name != "BRA.CONV":
            return targets
        return [*targets, position + 1] if position + 1 < len(self.instructions) else targets

    @property
    def reached(self) -> tuple[Instruction, ...]:
        """The instructions that a warp may execute which has not diverged at a shuffle or vote."""
        return tuple(self.instructions[position] for position in sorted(_reverse_postorder(self)))

    @cached_property
    def loops(self) -> tuple[frozenset[int], ...]:
        """The positions of the instructions of each natural loop: one entry, and branches back to it."""
        order = _reverse_postorder(self)
        before = _predecessors(self, order)
        dominators = _dominators(order, before)
        found: dict[int, set[int]] = {}
        for position in order:
            for head in self.successors(position):
                if dominators[position] >> head & 1:
                    found.setdefault(head, {head}).update(_reaching(position, head, before))
        return tuple(frozenset(body) for body in found.values())

    def innermost_loop(self) -> tuple[Instruction, ...]:
        """Return the loop with the most loops around it, of several the longest. Spinning atomics do not count."""
        loops = [body for body in self.loops if not self.spins_in(body)]
        inner = [body for body in loops if not any(other < body for other in loops)]
        chosen = max(inner, key=lambda body: (sum(body < other for other in loops), len(body), -min(body)), default=())
        return tuple(self.instructions[position] for position in sorted(chosen))

    def spins_in(self, body: frozenset[int]) -> bool:
        """Return whether a loop is that in which an atomic spins: the smallest loop around it."""
        spinning = {position for position in body if SPIN.match(self.instructions[position].name)}
        return bool(spinning) and not any(other < body and spinning & other for other in self.loops)

    @property
    def spins(self) -> int:
        """The number of atomics that spin."""
        return sum(bool(SPIN.match(each.name)) for each in self.instructions)


def kernels(disassembly: str) -> Iterator[Kernel]:
    """Yield the kernels in what `nvdisasm -c` prints, or `nvdisasm -gp -c`."""
    _, *parts = SECTION.split("\n".join(line.strip() for line in disassembly.splitlines()))
    for name, text in zip(parts[::2], parts[1::2]):
        instructions: list[Instruction] = []
        labels: dict[str, int] = {}
        made_of = 0
        for line in text.splitlines():
            if label := LABEL.match(line):
                labels[label[1]] = len(instructions)
            elif found := INSTRUCTION.match(line):
                targets = tuple(TARGET.findall(found["operands"]))
                conditional = bool(found["predicate"]) or bool(re.match(r"\s*!?U?P\d", found["operands"]))
                instructions.append(Instruction(found["name"], conditional, targets, made_of))
            elif named := PTX_LINE.match(line):
                made_of = int(named[1])
        yield Kernel(name, tuple(instructions), labels)


def _reverse_postorder(kernel: Kernel) -> list[int]:
    seen, order = {0}, []
    waiting = [(0, iter(kernel.successors(0)))]
    while waiting:
        following = next((each for each in waiting[-1][1] if each not in seen), None)
        if following is None:
            order.append(waiting.pop()[0])
        else:
            seen.add(following)
            waiting.append((following, iter(kernel.successors(following))))
    return order[::-1]


def _predecessors(kernel: Kernel, order: list[int]) -> dict[int, list[int]]:
    before: dict[int, list[int]] = {position: [] for position in order}
    for position in order:
        for following in kernel.successors(position):
            before[following].append(position)
    return before


def _dominators(order: list[int], before: dict[int, list[int]]) -> dict[int, int]:
    """Return for each position its dominators, itself included, as a mask of positions."""
    everything = (1 << (max(order) + 1)) - 1
    found = dict.fromkeys(order, everything) | {order[0]: 1 << order[0]}
    changed = True
    while changed:
        changed = False
        for position in order[1:]:
            passed = everything
            for each in before[position]:
                passed &= found[each]
            passed |= 1 << position
            changed |= passed != found[position]
            found[position] = passed
    return found


def _reaching(position: int, head: int, before: dict[int, list[int]]) -> set[int]:
    """Return the positions from which `position` is reached without passing `head`."""
    found, waiting = {head}, [position]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += before[each]
    return found
