"""Errors that evenkey raises on purpose; their messages name the thing and the mend."""

from __future__ import annotations


class EvenkeyError(Exception):
    """Base of every error that evenkey raises on purpose."""


class ConfigurationError(EvenkeyError, ValueError):
    """Something the caller asked for cannot be: a bad option, name, path or value.

    The command line exits with code 2.
    """


class RunError(EvenkeyError, RuntimeError):
    """A run failed, or state that a run left behind cannot be read.

    The command line exits with code 1.
    """
