"""Values as JSON, for programs that read what commands print (`--json`)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np


def json_text(value: Any) -> str:
    """Return a value as JSON: what is not a finite number is null, and a decimal that no float has is a text."""
    return json.dumps(_plain(value), indent=1, ensure_ascii=True, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, Decimal):
        whole, near = value == value.to_integral_value(), float(value)
        return int(value) if whole else near if Decimal(repr(near)) == value else format(value, "f")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, type(None))) else str(value)
