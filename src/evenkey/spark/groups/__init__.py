"""groupBy with keys placed by their load: Spark's own methods and results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.doors import late

if TYPE_CHECKING:
    from evenkey.spark.groups.grouped import Grouped, groupBy

__all__ = ["Grouped", "groupBy"]

# `fit`, which plans for both, is beneath `aggregate`, which a groupBy calls.
__getattr__ = late(
    __name__,
    dict.fromkeys(("Grouped", "groupBy"), "evenkey.spark.groups.grouped"),
)
