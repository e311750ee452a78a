"""The commands that reproduce the papers' results; their modules are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from evenkey.cli.help_pages import Commands, Group
from evenkey.core.spelling import offer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["register"]

_PANEL = "Papers"


def register(app: typer.Typer) -> None:
    """Add the commands to a program."""
    for name, made, summary in (
        ("join", _join, "Join a stream with static data by place, in the six modes of the paper."),
        ("experiment", _experiment, "Reproduce the papers' tables and figures."),
    ):
        group = Commands(cls=_imported_when_used(made), help=summary)
        app.add_typer(group, name=name, rich_help_panel=_PANEL)
    offer(_more_names)


def _more_names() -> None:
    import evenkey.papers  # noqa: F401 - registers more groupings and data sets


def _join() -> Commands:
    from evenkey.cli.papers.join import group

    return group()


def _experiment() -> Commands:
    from evenkey.cli.papers.experiment import group

    return group()


def _imported_when_used(made: Callable[[], Commands]) -> type[Group]:
    """Return the class of a command group that creates its commands on first use."""

    class LateGroup(Group):
        _made: dict[str, Any] | None = None

        @property
        def commands(self) -> dict[str, Any]:
            if self._made is None:
                whole: Any = typer.main.get_command(made())
                self._made = whole.commands
            return self._made

        @commands.setter
        def commands(self, none: object) -> None:
            """Ignore the empty dict of commands that the constructor sets."""

    return LateGroup
