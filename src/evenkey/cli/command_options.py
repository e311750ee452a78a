"""Options of the commands that run a pipeline, generated from the fields of its configuration.

Each field of `PipelineConfig` is a key of the configuration file and an option of the command. The
description of the field is the help text of the option. So there is only one list of options.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperOption

from evenkey.cli.help_pages import default_text
from evenkey.cli.output import echo
from evenkey.core.errors import ConfigurationError
from evenkey.core.spelling import split_list
from evenkey.pipeline.aggregate import PipelineConfig
from evenkey.pipeline.options import fact

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pydantic.fields import FieldInfo

    from evenkey.pipeline.options import Configuration

_CONFIG_FILE = inspect.Parameter(
    "config_file",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="TOML file with any of these options as keys; options override the file.",
        ),
    ],
)


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        for each in context.command.params:
            if isinstance(each, TyperOption):
                each.hidden = False
        echo(context.get_help())
        raise typer.Exit


_HELP_ALL = inspect.Parameter(
    "help_all",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option(
            "--help-all", is_eager=True, callback=_show_all, help="Show all options and exit."
        ),
    ],
)

_PANELS = (
    *("Input", "Stream", "Static side", "Grouping", "Join", "Distributor", "Work"),
    *("Application", "Run", "Output", "Kafka"),
)
"""Panels of options, in the order of the help."""


_METAVARS = {int: "N", float: "NUMBER", Path: "FILE", tuple: "PATH"}
"""Names of values in the help by type, for options that do not declare one."""

_LONGEST_CHOICES = 40
"""The help lists the choices of an option beside its name if they are not longer than this."""


def option_name(field: str) -> str:
    """Return the name of the command line option for a field of the configuration.

    Examples
    --------
    >>> option_name("cost_ms")
    '--cost-ms'
    """
    return "--" + field.replace("_", "-")


def distinct_groupings(config: PipelineConfig, groupings: str) -> list[str]:
    """Parse a list of groupings; return each in its shortest spelling.

    Raises
    ------
    ConfigurationError
        The list is empty, contains a grouping twice, or contains a grouping that does not exist.

    Examples
    --------
    >>> distinct_groupings(PipelineConfig(dataset="country-skew-r80"), "PKG(choices=2), kg")
    ['pkg', 'kg']
    """
    spellings = [config.with_options(grouping=each).grouping for each in split_list(groupings)]
    if not spellings:
        message = f"groupings = {groupings!r}: name at least one, such as kg,pkg,dkg"
        raise ConfigurationError(message)
    for spelling in spellings:
        if spellings.count(spelling) > 1:
            message = f"groupings = {groupings!r}: {spelling} is named twice; name it once"
            raise ConfigurationError(message)
    return spellings


def with_pipeline_options(
    *,
    only: Collection[str] = PipelineConfig.model_fields.keys(),
    without: Collection[str] = (),
    arguments: Collection[str] = (),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the option ``--config`` to a command, and an option for each `PipelineConfig` field.

    The command gets the configuration as its argument ``config``, besides its own options.

    Parameters
    ----------
    only
        Fields that become options.
    without
        Fields of `only` that do not become options.
    arguments
        Fields of `only` that become positional arguments.
    """
    left_out = (PipelineConfig.model_fields.keys() - {*only}) | {*without}
    return with_options_of(PipelineConfig, without=left_out, arguments=arguments)


def with_options_of(
    configuration: type[Configuration],
    *,
    without: Collection[str] = (),
    arguments: Collection[str] = (),
    brief: bool = False,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add an option for each field of a configuration to a command; see `with_pipeline_options`.

    With `brief`, ``--help`` shows only the basic options and ``--help-all`` shows all options.
    """
    family = configuration.__mro__
    ordered = sorted(
        configuration.model_fields.items(),
        key=lambda item: (_PANELS.index(fact(item[1], "panel")), _depth(family, item[0])),
    )
    fields = {name: field for name, field in ordered if name not in without}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_options(*, config_file: Path | None, **given: Any) -> None:
            given.pop("help_all", None)
            options = {name: given.pop(name) for name in fields}
            # Typer passes an empty list for a repeatable option that was not given.
            chosen = {name: value for name, value in options.items() if value != []}
            command(config=configuration.read(config_file, **chosen), **given)

        own = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [
            _CONFIG_FILE,
            *([_HELP_ALL] if brief else []),
            *(each for each in own if each.name != "config"),
            *(
                _parameter(
                    name,
                    field,
                    argument=name in arguments,
                    hidden=brief and not fact(field, "first"),
                )
                for name, field in fields.items()
            ),
        ]
        with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {each.name: each.annotation for each in parameters}
        return with_options

    return decorate


def _depth(family: tuple[type, ...], field: str) -> int:
    """Return the number of the class in `family` that declares a field."""
    return next(
        i for i, each in enumerate(family) if field in vars(each).get("__annotations__", ())
    )


def _parameter(name: str, field: FieldInfo, *, argument: bool, hidden: bool) -> inspect.Parameter:
    # Typer leaves values as text and the configuration parses them, so an invalid value gets the
    # same message whether it is in an option or in the file.
    kind = _kind(field)
    annotation: Any = {bool: bool | None, tuple: list[str] | None}.get(kind, str | None)
    option: Any
    if argument:
        option = typer.Argument(
            metavar=name.upper() + ("..." if kind is tuple else ""),
            help=_help(field),
        )
    else:
        names = option_name(name)
        if kind is bool:
            names += f"/{option_name(f'no_{name}')}"
        option = typer.Option(
            names,
            metavar=None if kind is bool else _metavar(field),
            help=_help(field),
            rich_help_panel=fact(field, "panel"),
            hidden=hidden,
        )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[annotation, option],
    )


def _help(field: FieldInfo) -> str:
    choices = _choices(_kind(field))
    listed = f" One of {', '.join(choices)}." if choices and not _inline(choices) else ""
    return f"{field.description}{listed}{default_text(field.default)}"


def _kind(field: FieldInfo) -> Any:
    """Return the type of a field, without ``None`` and without validators."""
    kind: Any = field.annotation
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        kind = next(each for each in typing.get_args(kind) if each is not type(None))
    while typing.get_origin(kind) is Annotated:
        kind = typing.get_args(kind)[0]
    return tuple if typing.get_origin(kind) is tuple else kind


def _metavar(field: FieldInfo) -> str:
    """Return the name of an option's value in the help; a few short choices are listed."""
    kind, named = _kind(field), fact(field, "metavar")
    choices = _choices(kind)
    if named or not choices:
        return str(named or _METAVARS.get(kind, "TEXT"))
    return _inline(choices) or "NAME"


def _choices(kind: Any) -> tuple[str, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) is Literal else ()


def _inline(choices: Sequence[str]) -> str:
    """Join a few short choices; return an empty text if they are too long for a line."""
    joined = "|".join(choices)
    return joined if len(joined) <= _LONGEST_CHOICES else ""
