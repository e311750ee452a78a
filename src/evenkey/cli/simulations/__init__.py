"""The command that simulates: groupings, or policies that move keyed state."""

from __future__ import annotations

from evenkey.cli.simulations.simulate import register

__all__ = ["register"]
