"""Groupings that give the hottest keys (the head) more candidate workers than all other keys."""

from __future__ import annotations

from evenkey.groupings.heads.d_choices import DChoices
from evenkey.groupings.heads.w_choices import WChoices

__all__ = ["DChoices", "WChoices"]
