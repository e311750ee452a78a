"""Experiments on statements of the PKG paper outside its tables and figures, by section."""

from __future__ import annotations

__all__: list[str] = []
