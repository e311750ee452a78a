"""Runs from a source to a sink: the common parts of all runs, and two kinds of runs.

`aggregate` merges partial results by key; `learn` learns a model. Publish/subscribe by place, the
third kind, is in `evenkey.papers`.
"""

from __future__ import annotations

__all__: list[str] = []
