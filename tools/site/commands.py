"""Make the page of all commands and options from their declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from evenkey.cli import app

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["commands", "leaves"]

_HEAD = """\
# Commands and configuration

The tables of commands come from the declaration of the options, like `--help`.

## Configuration file

`--config FILE` reads options from a TOML file. Its keys are the long names of options, with dashes
or underscores:

```toml
dataset = "country-skew-r80"    # --dataset country-skew-r80
grouping = "planned"
workers = 10
cost-ms = 1                     # or cost_ms
output = "out"
```

```sh
evenkey run --config pipeline.toml --workers 20    # 20 workers; other options as in the file
```

Options on the command line override the file, and the file overrides defaults. An option that can
be given several times is a list: `input = ["a.csv", "b.csv"]`. Relative paths start from the
current directory. A key that is no option of the command stops it with an error. Options under
"Options", such as `--json`, cannot be in the file.
"""


def commands() -> str:
    """Return the page: a heading per command, and a table for each group of its options."""
    parts = [_HEAD]
    for name, command in leaves():
        parts += [f"## {name}", _help(command), *_tables(command)]
    return "\n\n".join(parts) + "\n"


def leaves() -> Iterator[tuple[str, Any]]:
    """Yield each command without subcommands, with its full name such as ``evenkey join run``."""
    yield from _below("evenkey", typer.main.get_command(app))


def _below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield name, command
        return
    for child in children:
        yield from _below(f"{name} {child}", children[child])


def _help(command: Any) -> str:
    text = " ".join((command.help or "").split())
    return f"{text}\n\n{command.epilog.splitlines()[0]}" if command.epilog else text


def _tables(command: Any) -> Iterator[str]:
    groups: dict[str, list[Any]] = {}
    for each in command.params:
        panel = getattr(each, "rich_help_panel", None)
        kind = "Options" if each.param_type_name == "option" else "Arguments"
        groups.setdefault(panel or kind, []).append(each)
    for panel in sorted(groups, key=lambda name: ("Arguments", "Options").count(name) == 0):
        rows = [f"| `{_name(each)}` | {_cell(each)} |" for each in groups[panel]]
        yield "\n".join([f"**{panel}**", "", "| option | what it is |", "|---|---|", *rows])


def _name(each: Any) -> str:
    value = _value(each)
    if each.param_type_name == "argument":
        return value.replace("|", " or ")
    names = ", ".join(each.opts)
    return names if each.is_flag else f"{names} {'CHOICE' if '|' in value else value}"


def _cell(each: Any) -> str:
    """Return the help text of an option; bars are escaped, since they would end the table cell."""
    said = " ".join((each.help or "").split()).replace("|", "\\|")
    value = _value(each)
    if "|" in value and each.param_type_name == "option":
        said += " One of " + ", ".join(f"`{choice}`" for choice in value.split("|")) + "."
    return said


def _value(each: Any) -> str:
    return str(each.metavar or each.display_type(None))
