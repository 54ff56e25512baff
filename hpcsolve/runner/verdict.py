"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """What a check found.

    Attributes
    ----------
    passed
        None where there is nothing to check: that no tour exists has no short certificate.
    reason
        In words.
    """

    passed: bool | None
    reason: str

    def __str__(self) -> str:
        """`PASS (...)`, `FAIL (...)`."""
        return f"{'NOT CHECKED' if self.passed is None else 'PASS' if self.passed else 'FAIL'} ({self.reason})"
