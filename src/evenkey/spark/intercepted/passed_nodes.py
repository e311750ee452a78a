"""Pass a node of an analysed plan to the handlers, with its inputs as DataFrames."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.spark.intercepted.catalyst_nodes import each_of, hidden_columns
from evenkey.spark.intercepted.wanted_nodes import refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import DataFrame

    from evenkey.spark.intercepted.catalyst_nodes import Catalyst
    from evenkey.spark.intercepted.intercepted_call import Described, InterceptedCall
    from evenkey.spark.intercepted.wanted_nodes import WantedNodes

    Used = list[tuple[int | None, Callable[[], object]]]

_ODD = re.compile(r"\W")


def readable(name: str) -> str:
    """Return a name in which all but word characters are underscores."""
    return _ODD.sub("_", name)


@dataclass
class PassedNodes:
    """The nodes of one plan that are passed to handlers.

    Parameters
    ----------
    catalyst
        Makes the nodes.
    handle
        Takes a call, and returns its result.
    every
        Which nodes are passed: those that one of these wants.
    has_hidden
        Whether later calls can name columns of the plan that ``USING`` hides.
    has_wanted
        Whether a node was wanted.
    used
        Functions to call if the results are part of the result of the plan: those of a rerouted
        window with its number.
    """

    catalyst: Catalyst
    handle: Callable[[InterceptedCall], DataFrame]
    every: Sequence[WantedNodes]
    has_hidden: bool = False
    has_wanted: bool = False
    used: Used = field(default_factory=list)

    def replaced(
        self, described: Described | None, node: Any, make: Callable[[Described, Used], Any | None]
    ) -> Any:
        """Return a node with the handler's result in place of it, or unchanged.

        Parameters
        ----------
        described
            Fingerprint of the node; None: it has no keys.
        node
            The node.
        make
            Takes the fingerprint and a list, to which it appends functions as in `used`. Returns
            what is read in place of the node; None: the handler left it to Spark.
        """
        if described is None:
            return node
        wanted = [each.wanted(described) for each in self.every]  # each of them has to see it
        if not any(wanted):
            return node
        self.has_wanted = True
        used: Used = []
        try:
            made = make(described, used)
        except Exception as error:  # noqa: BLE001 - Spark can run this node
            refuse(self.every, f"{described.operator} by {described.keys[0]}", error)
            return node
        if made is None:
            return node
        self.used += used
        return made

    def restored(
        self, plan: Any, places: Iterable[int], node: Any, added: Sequence[Any] = ()
    ) -> Any:
        """Return the rows of a plan with the columns of a node, and their ids.

        Parameters
        ----------
        plan
            The rows.
        places
            Place in the plan's output of each column of the node, then of each hidden one.
        node
            The node that later nodes read these columns of.
        added
            Further columns of the result.
        """
        catalyst, found = self.catalyst, list(each_of(plan.output()))
        columns = list(each_of(node.output()))
        hidden = hidden_columns(node) if self.has_hidden else []
        listed = [
            catalyst.in_place_of(found[place], column)
            for place, column in zip(places, [*columns, *hidden], strict=True)
        ]
        made = catalyst.project([*listed, *added], plan)
        shown = [*listed[: len(columns)], *added]
        return catalyst.hiding(hidden, shown, made) if hidden else made


class NamedRows(NamedTuple):
    """An input of a node, with a name for each column, as names repeat in SQL.

    Parameters
    ----------
    frame
        The rows: first the columns, then those of the key, then hidden ones.
    width
        Number of columns without those of the key and hidden ones.
    keys
        Names of the columns of the key.
    hidden
        Number of hidden columns.
    """

    frame: DataFrame
    width: int
    keys: list[str]
    hidden: int

    @classmethod
    def of(
        cls,
        catalyst: Catalyst,
        before: Any,
        after: Any,
        keys: Sequence[tuple[str, Any]] = (),
        *,
        hidden: bool,
        renewed: bool = False,
    ) -> NamedRows:
        """Make a DataFrame of an input.

        Parameters
        ----------
        catalyst
            Makes the nodes.
        before, after
            The input by Spark alone, and with nodes replaced.
        keys
            Names and expressions of further columns.
        hidden
            Whether to keep columns that ``USING`` hides.
        renewed
            Whether to change the ids of columns. Else Spark would change those of the result, in
            which they are the same, and not those of hidden columns.
        """
        more = hidden_columns(before) if hidden else []
        columns = list(each_of(before.output()))
        named = [
            catalyst.named(each, f"c{n}_{readable(each.name())}") for n, each in enumerate(columns)
        ]
        named += [catalyst.named(each, name) for name, each in keys]
        named += [catalyst.named(each, f"h{n}") for n, each in enumerate(more)]
        plan = catalyst.project(named, after)
        if renewed:
            plan = catalyst.renewed(catalyst.analysed(plan))
        names = [name for name, _ in keys]
        return cls(catalyst.frame(plan), len(columns), names, len(more))

    @property
    def all_columns(self) -> int:
        """Number of all columns of the DataFrame."""
        return self.width + len(self.keys) + self.hidden

    def places(self, begin: int = 0) -> range:
        """Return the places of the columns in rows whose columns from a place on are these."""
        return range(begin, begin + self.width)

    def hidden_places(self, begin: int = 0) -> range:
        """Return the places of the hidden columns."""
        return range(begin + self.all_columns - self.hidden, begin + self.all_columns)
