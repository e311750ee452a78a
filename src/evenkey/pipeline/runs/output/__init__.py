"""The output of a run: claims, parts, commits, results, and sinks that write results."""

from __future__ import annotations

__all__: list[str] = []
