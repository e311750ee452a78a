"""Groupings that treat the head of the key distribution otherwise than its tail."""

from __future__ import annotations

from evenkey.groupings.heads.d_choices import DChoices
from evenkey.groupings.heads.w_choices import WChoices

__all__ = ["DChoices", "WChoices"]
