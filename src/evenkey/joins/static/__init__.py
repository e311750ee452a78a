"""Versions of the static side in a store, and what a worker keeps of them."""

from __future__ import annotations

__all__: list[str] = []
