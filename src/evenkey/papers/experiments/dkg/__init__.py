"""Experiments of the DKG paper, sections 4.3 and 5 (Dalabasmaz and Can, Dynamic Key Grouping)."""

from __future__ import annotations

__all__: list[str] = []
