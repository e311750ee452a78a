"""`balanced`: run the calls that a profile knows by balanced plans; the job is not edited."""

from __future__ import annotations

from evenkey.spark.balancing.balancer import balanced

__all__ = ["balanced"]
