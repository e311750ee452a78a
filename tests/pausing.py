"""Request that a run pauses."""

from __future__ import annotations


def when_running(paused):
    """Return a callback that requests a pause when the first epoch has ended."""

    def pause(progress):
        if progress.phase == "running":
            paused.touch()

    return pause
