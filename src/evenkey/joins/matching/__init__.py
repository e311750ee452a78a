"""What a join is on, and how rows of one partition meet."""

from __future__ import annotations

__all__: list[str] = []
