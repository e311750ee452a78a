"""Make the page of all commands and options from their declaration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer

from evenkey.cli import app
from evenkey.cli.help_pages import default_text

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["commands", "leaves"]

_CODE = re.compile(r"(`[^`]*`)")
_LABEL = re.compile(r"Examples?(?: \w+)*:")
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
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
    paragraphs = [" ".join(each.split()) for each in (command.help or "").split("\n\n")]
    return "\n\n".join([*map(_with_options, paragraphs), *_examples(command.epilog or "")])


def _examples(epilog: str) -> Iterator[str]:
    """Yield a block with the commands of an epilog; its lines are "Example: COMMAND"."""
    lines = [line for line in epilog.splitlines() if not line.startswith("All options:")]
    if lines:
        shown = [line.partition(":")[2].strip() if _LABEL.match(line) else line for line in lines]
        yield "\n".join(["```sh", *shown, "```"])


def _with_options(text: str) -> str:
    """Put the options that a text names into code font."""
    parts = _CODE.split(text)
    return "".join(each if each[:1] == "`" else _OPTION.sub(r"`\g<0>`", each) for each in parts)


def _tables(command: Any) -> Iterator[str]:
    """Yield a table per group of options, in the order of ``--help``."""
    groups: dict[str, list[Any]] = {"Arguments": []}
    general: list[Any] = []
    for each in command.params:
        panel = getattr(each, "rich_help_panel", None)
        if each.param_type_name == "argument":
            groups["Arguments"].append(each)
        else:
            (groups.setdefault(panel, []) if panel else general).append(each)
    for panel, members in {**groups, "Options": general}.items():
        rows = [f"| `{_name(each)}` | {_cell(each)} |" for each in members]
        kind = "argument" if panel == "Arguments" else "option"
        if rows:
            yield "\n".join([f"**{panel}**", "", f"| {kind} | what it is |", "|---|---|", *rows])


def _name(each: Any) -> str:
    value = _value(each)
    if each.param_type_name == "argument":
        return value.replace("|", " or ")
    names = ", ".join(each.opts)
    if each.secondary_opts:
        return f"{names} / {each.secondary_opts[0]}"
    return names if each.is_flag else f"{names} {'CHOICE' if '|' in value else value}"


def _cell(each: Any) -> str:
    """Return the help text of an option; bars are escaped, since they would end the table cell."""
    said = _with_options(" ".join((each.help or "").split()).replace("|", "\\|"))
    if each.param_type_name == "argument":
        return said
    said += default_text(each.default if each.show_default else None)
    value = _value(each)
    if "|" in value:
        said += " One of " + ", ".join(f"`{choice}`" for choice in value.split("|")) + "."
    return said


def _value(each: Any) -> str:
    return str(each.metavar or each.display_type(None))
