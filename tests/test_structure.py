"""The counter of names that a reader must learn, on a made-up package."""

from __future__ import annotations

import pytest

from tools import structure

FILES = {
    "__init__.py": "",
    "first.py": """
from evenkey.second import Sums, doubled
from evenkey.shop import late_name

def begin(sums: Sums):
    late_name(doubled(1))
    return sums.add(first_again())

def first_again():
    return 1
""",
    "second.py": """
class Base:
    def add(self, number):
        return self.more(number)

class Sums(Base):
    def more(self, number):
        return number

def doubled(number):
    return 2 * number
""",
    "shop/__init__.py": """
from evenkey.core.lazy import late
from evenkey.shop.inside import kept
__all__ = ["late_name"]
__getattr__ = late(__name__, {"late_name": "evenkey.shop.inside"})
""",
    "shop/inside.py": "def late_name(x):\n    return isinstance(x, OneGrouping)\nkept = 1\n",
    "paths.py": """
from typing import Protocol
from evenkey.second import doubled

class Path(Protocol):
    def go(self): ...

class Short:
    def go(self):
        return 1

class Long:
    def go(self):
        return doubled(self.more())

    def more(self):
        return 1

def walk(path: Path):
    return path.go()
""",
    "groupings/__init__.py": "",
    "groupings/one.py": "class OneGrouping:\n    pass\n",
}


@pytest.fixture
def package(tmp_path):
    for name, text in FILES.items():
        file = tmp_path / "evenkey" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def test_a_way_is_followed_through_late_names_and_methods(package):
    stops = structure.way(structure.Package(package), "evenkey.first", "begin")
    assert stops == [
        "evenkey.first",
        "evenkey.second",
        "evenkey.shop.inside",
        "evenkey.first",
        "evenkey.second",
    ]


def test_a_way_ends_at_a_protocol_whose_longest_case_is_counted(package):
    read = structure.Package(package)
    assert structure.way(read, "evenkey.paths", "walk") == ["evenkey.paths"]
    (line,) = structure.longest_case(read, "evenkey.paths", "walk")
    assert line.endswith("Long: 2 stops, 0 returns")
    assert structure.longest_case(read, "evenkey.second", "doubled") == []


def test_names_and_checks_are_counted(package):
    read = structure.Package(package)
    assert structure.names_for_others(read)["evenkey.shop"] == 1
    assert structure.checks_of_groupings(read) == 1
    assert "files                        8" in structure.report(package)
