"""Versions of the static side in a store, and the cache of their partitions in a worker."""

from __future__ import annotations

__all__: list[str] = []
