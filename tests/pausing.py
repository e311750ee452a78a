"""Asking a run to pause."""

from __future__ import annotations


def when_running(paused):
    """Give what asks for a pause when the first epoch has ended."""

    def pause(progress):
        if progress.phase == "running":
            paused.touch()

    return pause
