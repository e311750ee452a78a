"""Reports for users: advice, diagnosis of jobs, the live page, and the code that draws these."""

from __future__ import annotations

__all__: list[str] = []
