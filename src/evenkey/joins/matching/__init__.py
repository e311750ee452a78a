"""The condition of a join, and the join within one partition."""

from __future__ import annotations

__all__: list[str] = []
