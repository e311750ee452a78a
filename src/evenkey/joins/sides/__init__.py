"""The two sides of a join: checks of both, and dividing and writing the static side."""

from __future__ import annotations

__all__: list[str] = []
