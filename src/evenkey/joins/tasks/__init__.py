"""The Spark tasks that run in an epoch of a join."""

from __future__ import annotations

__all__: list[str] = []
