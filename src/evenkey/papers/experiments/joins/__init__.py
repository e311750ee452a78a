"""Experiments of the paper on stream-static joins (Marić et al., Electronics 2023), section 4.6."""

from __future__ import annotations

__all__: list[str] = []
