"""Geometries, spatial relations and partitions of space."""

from __future__ import annotations

__all__: list[str] = []
