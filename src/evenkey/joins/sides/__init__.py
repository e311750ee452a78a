"""The two sides of a join: checks of both sides, and how the static side is divided and written."""

from __future__ import annotations

__all__: list[str] = []
