"""What makes the papers' results again: their experiments, and publish/subscribe by place.

Nothing else imports it but the command line, when one of its commands is given.
"""

from __future__ import annotations

__all__: list[str] = []
