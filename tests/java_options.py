"""Options of the short-lived Javas that tests start."""

from __future__ import annotations

from pathlib import Path

__all__ = ["JAVA_OPTIONS", "SHORT_LIVED"]

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Tests are too short to profit from Java's optimizing compiler and parallel garbage collector:
with these options, Spark and the programs of tests take a third less processor time."""
# `make test` wrote a class archive of Spark there, which saves another third; other Javas skip it.
_CLASSES = Path(__file__).parents[1] / "build" / "java-classes.jsa"
_ARCHIVE = f" -XX:SharedArchiveFile={_CLASSES} -Xlog:cds*=off -Xlog:class+path=off"

JAVA_OPTIONS = SHORT_LIVED + (_ARCHIVE if _CLASSES.exists() else "")
"""These, and the archive, which Java skips if its class path does not begin with Spark's jars."""
