"""Solvers that disagree: no time counts then, and the benchmark ends with exit code 1."""

from __future__ import annotations

from hpcsolve.errors import HpcsolveError


class WrongAnswerError(HpcsolveError):
    """An answer contradicts another solver's answer, a known optimum, or the instance."""

    exit_code = 1


def require_equal(name: str, equal: bool) -> None:
    """Raise `WrongAnswerError` for the instance of this name unless the answers are equal."""
    if not equal:
        raise WrongAnswerError(f"{name}: the solvers found different answers")
