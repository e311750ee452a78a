"""Every grouping of the package, in several spellings, passes every check."""

from __future__ import annotations

import pytest

from evenkey.checks import yield_checks
from evenkey.groupings import available, parse

SPELLINGS = [
    *sorted(available()),
    "pkg(choices=1)",
    "pkg(choices=5)",
    "pkg(variant=paper)",
    "cam(tolerance=0.2)",
    "dkg(variant=reference)",
    "planned(planning=current)",
    "planned(planning=previous,buckets=4096,tracked=50)",
    "dkg(scale_in=minus-root,expected_keys=20)",
]


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{spelling}-{name}")
        for spelling in SPELLINGS
        for name, check in yield_checks(parse(spelling))
    ],
)
def test_conformance(check):
    check()
