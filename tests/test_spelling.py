"""Names in text: classes that are imported only when a name would otherwise be unknown."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from evenkey.core import spelling
from evenkey.core.errors import ConfigurationError
from evenkey.core.spelling import offer, read


@dataclass(frozen=True)
class Early:
    """A class that is known from the beginning."""

    size: int = 1


@dataclass(frozen=True)
class Late:
    """A class that is known after its import."""

    size: int = 1


def test_modules_with_more_names_are_imported_once_and_only_for_an_unknown_name(monkeypatch):
    monkeypatch.setattr(spelling, "_offers", [])
    known: dict[str, type] = {"early": Early}
    imports: list[str] = []

    def importing():
        imports.append("late")
        known["late"] = Late

    offer(importing)
    assert read("thing", "early(size=2)", known, lambda: known) == Early(2)
    assert imports == []
    for _ in range(2):
        assert read("thing", "late(size=3)", known, lambda: known) == Late(3)
    with pytest.raises(ConfigurationError, match="'latest'"):
        read("thing", "latest", known, lambda: known)
    assert imports == ["late"]
