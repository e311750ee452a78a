"""Replayable sources, topics, and the stored description of a run's input."""

from __future__ import annotations

__all__: list[str] = []
