"""``evenkey submit``: run a program of PySpark by its profile, or record its profile."""

from __future__ import annotations

from evenkey.cli.submission.submit import register

__all__ = ["register"]
