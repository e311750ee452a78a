"""Experiments of the PKG paper, section 6 (Nasir et al., Partial Key Grouping)."""

from __future__ import annotations

__all__: list[str] = []
