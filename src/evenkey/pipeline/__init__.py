"""Runs from a source to a sink: the parts that all runs share, and two of the three kinds of runs.

`aggregate` merges partial results by key; `learn` learns a model. The third kind, geospatial
publish/subscribe, is in `evenkey.papers`.
"""

from __future__ import annotations

__all__: list[str] = []
