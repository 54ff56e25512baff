"""The stub driver."""

from __future__ import annotations

from tests.stub_driver.fixture import stub

__all__ = ["stub"]
