"""Checks of arguments: which values pass, and the messages for all others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

from evenkey.core.checking import check_fields, number, whole_number
from evenkey.core.errors import ConfigurationError


@dataclass(frozen=True)
class Thing:
    """A class with a field of each checked kind."""

    count: int = 1
    share: float = 0.5
    title: str = "a"
    exact: bool = False
    kind: Literal["plain", "deep"] = "plain"
    most: int | None = None
    sizes: tuple[int, ...] = ()
    names: tuple[str, ...] | None = None
    pair: tuple[int, str] = (1, "a")
    either: int | str = 1


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"count": np.int32(4), "share": 3, "most": 5},
        {"share": math.inf, "exact": True, "kind": "deep"},
        {"sizes": (1, 2), "names": ["a", "b"]},
        {"pair": "not looked at", "either": "text"},
    ],
)
def test_fields_that_hold_what_their_hints_say_pass(fields):
    check_fields(Thing(**fields))


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("count", "4", "Thing: count = '4': must be a whole number; pass count=4"),
        ("count", True, "Thing: count = True: must be a whole number; pass count=1"),
        ("share", "x", "Thing: share = 'x': must be a number; pass share=1.0, for instance"),
        ("share", math.nan, "Thing: share = nan: must be a number; pass share=1.0, for instance"),
        ("title", 3, "Thing: title = 3: must be text; pass title='...'"),
        ("exact", 1, "Thing: exact = 1: must be True or False"),
        ("kind", "flat", "Thing: kind = 'flat': must be 'plain' or 'deep'"),
        ("most", 2.5, "Thing: most = 2.5: must be a whole number; pass most=2"),
        ("sizes", 3, "Thing: sizes = 3: must be a tuple; pass sizes=(...,)"),
        ("sizes", (1, "2"), "Thing: sizes = '2': must be a whole number; pass sizes=2"),
        ("names", "ab", "Thing: names = 'ab': must be a tuple; pass names=(...,)"),
        ("names", ("a", None), "Thing: names = None: must be text; pass names='...'"),
    ],
)
def test_a_field_that_holds_something_else_is_named(field, value, words):
    with pytest.raises(ConfigurationError) as caught:
        check_fields(Thing(**{field: value}))
    assert str(caught.value) == words


@dataclass(frozen=True)
class Unsure(Thing):
    """A class with a hint that cannot be resolved when it runs."""

    count: OnlyForTypeCheckers = "four"  # type: ignore[name-defined]  # noqa: F821


def test_a_hint_that_cannot_be_resolved_replaces_that_of_the_base_class():
    check_fields(Unsure())
    with pytest.raises(ConfigurationError, match="Unsure: share = 'x': must be a number"):
        check_fields(Unsure(share="x"))  # type: ignore[arg-type]


def test_numbers_at_a_bound():
    assert number("z", 2, least=2) == 2.0
    assert whole_number("k", 2, 2) == 2
    for refused, words in (
        (lambda: number("z", 1.999, least=2), "must be at least 2"),
        (lambda: number("z", 2, above=2), "must be above 2"),
        (lambda: number("z", math.inf), "must be a finite number"),
        (lambda: whole_number("k", 1, 2), "must be at least 2"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            refused()
    assert number("z", 2.001, above=2) == 2.001
