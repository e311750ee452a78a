"""From the start of a run to its end or pause: the runner, its phases, signals, progress."""

from __future__ import annotations

__all__: list[str] = []
