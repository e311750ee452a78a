"""`record`: store which operations of a job shuffle by key, and their hot keys, while it runs."""

from __future__ import annotations

from evenkey.spark.recording.recorder import record

__all__ = ["record"]
