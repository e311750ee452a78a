"""The help of commands: plain text, in which no name of an option is broken at the end of a line.

Typer's own help is a table with borders. In a terminal of 80 characters its columns are so narrow
that it breaks names of options and their values.
"""

from __future__ import annotations

import inspect
import textwrap
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

WIDEST = 100
"""Maximum width of a help page in characters; longer lines are hard to read."""

_ARGUMENT = "argument"
_LONGEST_NAME = 32
"""A longer name of an option has a line of its own."""


class Command(TyperCommand):
    """A command with a plain help page."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line."""
        return ["[OPTIONS]", *map(_in_usage, _arguments(self, ctx))]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help page: the usage, the arguments, then the options by panel."""
        _write_page(self, ctx, formatter)


class Group(TyperGroup):
    """A group of commands with a plain help page, which is also printed without arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; without any, print the help page and exit with 0."""
        return super().parse_args(ctx, args or ["--help"])

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help page: the usage, the commands by panel, then the options."""
        _write_page(self, ctx, formatter)


class Commands(typer.Typer):
    """A Typer application whose groups and commands have plain help pages."""

    def __init__(self, *, cls: type[TyperGroup] = Group, **options: Any) -> None:
        settings = {"max_content_width": WIDEST, "help_option_names": ["-h", "--help"]}
        super().__init__(cls=cls, context_settings=settings, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[..., Any]:
        """Return a decorator that adds a command."""
        return super().command(name, **{"cls": Command, **options})


def default_text(value: object) -> str:
    """Return the sentence that names the default value of an option; empty if it has none.

    Examples
    --------
    >>> default_text(60.0), default_text("dkg"), default_text(None)
    (' Default: 60.', ' Default: dkg.', '')
    """
    if value is None or value is False or value in ((), []):
        return ""
    return f" Default: {value:g}." if isinstance(value, float) else f" Default: {value}."


def _write_page(command: Any, ctx: Any, formatter: Any) -> None:
    command.format_usage(ctx, formatter)
    for paragraph in _paragraphs(command):
        _write_lines(formatter, "", ["", *_wrapped(paragraph, formatter.width)])
    _write_section(formatter, "Arguments", map(_of_argument, _arguments(command, ctx)))
    if isinstance(command, TyperGroup):
        commands = [command.get_command(ctx, name) for name in command.list_commands(ctx)]
        for panel, entries in _by_panel(commands, "Commands").items():
            _write_section(formatter, panel, map(_of_command, entries))
    options = [each for each in command.get_params(ctx) if each.param_type_name != _ARGUMENT]
    panels = _by_panel(options, "Options")
    general = panels.pop("Options")
    for panel, entries in {**panels, "Options": general}.items():
        _write_section(formatter, panel, map(_of_option, entries))
    if command.epilog:
        # Commands to copy are not broken at the end of a line.
        formatter.write(f"\n{command.epilog}\n")


def _arguments(command: Any, ctx: Any) -> list[Any]:
    return [each for each in command.get_params(ctx) if each.param_type_name == _ARGUMENT]


def _in_usage(argument: Any) -> str:
    name = _of_argument(argument)[0]
    return name if argument.required else f"[{name}]"


def _by_panel(entries: Sequence[Any], usual: str) -> dict[str, list[Any]]:
    panels: dict[str, list[Any]] = {}
    for each in entries:
        if not each.hidden:
            panels.setdefault(getattr(each, "rich_help_panel", None) or usual, []).append(each)
    return panels


def _write_section(formatter: Any, title: str, records: Iterable[tuple[str, str]]) -> None:
    rows = [*records]
    if not rows:
        return
    _write_lines(formatter, "", ["", f"{title}:"])
    short = [len(name) for name, _ in rows if len(name) <= _LONGEST_NAME]
    longest = max(short, default=_LONGEST_NAME)
    for name, text in rows:
        lines = _wrapped(text, formatter.width - longest - 4)
        beside = len(name) <= longest
        first = f"{name:<{longest}}  {lines[0]}" if beside else name
        _write_lines(formatter, "  ", [first])
        _write_lines(formatter, " " * (longest + 4), lines[1:] if beside else lines)


def _write_lines(formatter: Any, margin: str, lines: Iterable[str]) -> None:
    for line in lines:
        formatter.write(f"{margin}{line}".rstrip() + "\n")


def _wrapped(text: str, width: int) -> list[str]:
    # Options and spellings have hyphens, and must stay whole.
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)


def _paragraphs(command: Any) -> list[str]:
    return [" ".join(each.split()) for each in inspect.cleandoc(command.help).split("\n\n")]


def _of_argument(argument: Any) -> tuple[str, str]:
    return argument.metavar, argument.help


def _of_command(command: Any) -> tuple[str, str]:
    return command.name, _paragraphs(command)[0]


def _of_option(option: Any) -> tuple[str, str]:
    name = ", ".join(sorted(option.opts, key=len))
    if option.secondary_opts:
        name = f"{name} / {option.secondary_opts[0]}"
    elif not option.is_flag:
        name = f"{name} {option.metavar}"
    shown = option.default if option.show_default else None
    return name, option.help + default_text(shown)
