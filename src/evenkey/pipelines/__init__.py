"""Kinds of runs: aggregate by key, join with a static side, learn a model."""

from __future__ import annotations

__all__: list[str] = []
