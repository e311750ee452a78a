"""The two sides of a join: checked, and the static one divided and written."""

from __future__ import annotations

__all__: list[str] = []
