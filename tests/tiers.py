"""Divides the cases of a long parametrisation between `make check` and `make soak`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["most_in_soak"]


def most_in_soak(values: Iterable[Any], seconds: float, slow: Collection[Any]) -> list[Any]:
    """Return the cases of a parametrisation, of which only those in `slow` stay in `make check`.

    Parameters
    ----------
    values
        All cases; a case of several arguments is a tuple.
    seconds
        What each case takes on an idle machine.
    slow
        The cases that are not marked `soak`; each of them is in `values`.

    Examples
    --------
    >>> one, other = most_in_soak(["kg", "pkg"], 3, slow=["pkg"])
    >>> one.marks[0].name, other
    ('soak', 'pkg')
    """
    values = list(values)
    unknown = [each for each in slow if each not in values]
    assert not unknown, f"{unknown} are not among the cases"
    soak = pytest.mark.soak(seconds)
    return [
        each
        if each in slow
        else pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=soak)
        for each in values
    ]
