"""Placement of the partitions of a join, decided before each epoch from measured loads."""

from __future__ import annotations

__all__: list[str] = []
