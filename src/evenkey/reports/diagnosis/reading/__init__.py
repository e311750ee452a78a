"""Read applications: event logs, history servers, running applications, and Spark's plans."""

from __future__ import annotations

__all__: list[str] = []
