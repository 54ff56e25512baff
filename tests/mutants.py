"""Damaged files, for tests that no damage brings down a reader."""


def mutant(content, chance, splices):
    """One to three small damages: a splice, a cut, a doubled or dropped piece, a changed byte."""
    for _ in range(chance.randint(1, 3)):
        at, width = chance.randrange(len(content) + 1), chance.choice((1, 1, 5, 60))
        piece = content[at : at + width]
        content = chance.choice((
            content[:at] + chance.choice(splices) + content[at:],
            content[:at] + content[at + width :],
            content[:at] + piece + content[at:],
            content[:at] + bytes([chance.randrange(256)]) + content[at + 1 :],
            content[:at],
        )) or b"x"  # fmt: skip
    return content
