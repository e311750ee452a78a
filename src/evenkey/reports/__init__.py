"""What people look at: advice, diagnosis of jobs, the live page, and the kit that draws them."""

from __future__ import annotations

__all__: list[str] = []
