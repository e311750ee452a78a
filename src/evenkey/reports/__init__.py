"""Reports for people: advice, diagnosis of jobs, the live page, and the code that draws them."""

from __future__ import annotations

__all__: list[str] = []
