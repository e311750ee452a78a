"""Errors that evenkey raises on purpose; their messages name the thing and the mend."""

from __future__ import annotations


class EvenkeyError(Exception):
    """Base of every error that evenkey raises on purpose.

    Examples
    --------
    >>> issubclass(ConfigurationError, EvenkeyError), issubclass(RunError, EvenkeyError)
    (True, True)
    """


class ConfigurationError(EvenkeyError, ValueError):
    """Something the caller asked for cannot be: a bad option, name, path or value.

    The command line exits with code 2.

    Examples
    --------
    >>> from evenkey import PartialKeyGrouping
    >>> PartialKeyGrouping(choices=0)
    Traceback (most recent call last):
    evenkey.errors.ConfigurationError: pkg: choices = 0: a key needs at least 1 choice
    """


class RunError(EvenkeyError, RuntimeError):
    """A run failed, or state that a run left behind cannot be read.

    The command line exits with code 1.

    Examples
    --------
    >>> try:
    ...     raise RunError("the output was taken by another process")
    ... except EvenkeyError as error:
    ...     print(error)
    the output was taken by another process
    """
