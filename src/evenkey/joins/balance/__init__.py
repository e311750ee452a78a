"""Where the partitions of a join lie, decided epoch by epoch from what they cost."""

from __future__ import annotations

__all__: list[str] = []
