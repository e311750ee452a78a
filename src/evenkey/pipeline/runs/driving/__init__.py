"""Drive a run from its start to its end or pause: runner, phases, signals and progress."""

from __future__ import annotations

__all__: list[str] = []
