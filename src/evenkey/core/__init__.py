"""What computes without Spark, and what all of evenkey stands on: streams, sketches, stores."""

from __future__ import annotations

__all__: list[str] = []
