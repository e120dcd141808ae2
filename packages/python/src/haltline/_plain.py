"""Any Python value as JSON: arguments of tools are whatever a framework passes."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

DEPTH_MAX = 64
TEXT_CHARACTERS_MAX = 1 << 20
"""Longest output that is sent. Of a longer one, haltline gets the beginning and the end."""


def dumps(value: Any) -> str:
    """The value as JSON. What JSON cannot express is replaced by its type, which is the same in every run."""
    try:
        return json.dumps(value, default=_replace, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_plain(value, 0))


def shortened(text: str) -> str:
    if len(text) <= TEXT_CHARACTERS_MAX:
        return text
    half = TEXT_CHARACTERS_MAX // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters …]\n{text[-half:]}"


def _replace(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    # Never repr(): it often contains an address, and then two equal calls would look different.
    return f"<{type(value).__qualname__}>"


def _plain(value: Any, depth: int) -> Any:
    if depth > DEPTH_MAX:
        return "<too deep>"
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    try:
        return _plain(_replace(value), depth + 1)
    except Exception:
        return f"<{type(value).__qualname__}>"
