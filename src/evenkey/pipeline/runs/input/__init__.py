"""Sources that can be read again, topics, and what a run remembers of its input."""

from __future__ import annotations

__all__: list[str] = []
