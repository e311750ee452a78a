"""Fixtures of the fault tests."""

from __future__ import annotations

import subprocess

import pytest

from tests.components import skip_without


@pytest.fixture
def disk(tmp_path):
    """Mount a file system in memory with some options, or change them; return its path."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted: list[tuple[str, ...]] = []

    def mount(*options):
        again = ["-o", "remount," + ",".join(options)] if mounted else ["-o", ",".join(options)]
        done = subprocess.run(
            ["mount", "-t", "tmpfs", *again, "tmpfs", str(place)],  # noqa: S607 - the system's own
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            skip_without("tmpfs", f"mounting is not allowed here: {done.stderr.strip()}")
        mounted.append(options)
        return place

    yield mount
    if mounted:
        # Unmounted lazily: a JVM may outlive its run for a moment.
        subprocess.run(["umount", "-l", str(place)], check=True)  # noqa: S607 - the system's own
