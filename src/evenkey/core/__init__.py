"""Code without Spark that the other subpackages use: streams, sketches, stores, metrics."""

from __future__ import annotations

__all__: list[str] = []
