"""What a run leaves: claims, parts, commits, results, and sinks that pass these on."""

from __future__ import annotations

__all__: list[str] = []
