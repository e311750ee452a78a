"""The life of a run: directory, epochs, driving, pausing, reporting; it knows no pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.doors import late

if TYPE_CHECKING:
    from evenkey.runs.progress import EpochProgress, OnProgress
    from evenkey.runs.results import read_results

__all__ = ["EpochProgress", "OnProgress", "read_results"]

__getattr__ = late(
    __name__,
    {
        "EpochProgress": "evenkey.runs.progress",
        "OnProgress": "evenkey.runs.progress",
        "read_results": "evenkey.runs.results",
    },
)
