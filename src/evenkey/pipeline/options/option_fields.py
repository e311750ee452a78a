"""Declare the options of configurations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Field

from evenkey.core.addresses import without_password
from evenkey.core.stores import local_path, scheme_of

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

MOST = 2**63 - 1
"""The highest message number: messages are numbered by signed 64-bit integers."""
MOST_TASKS = 2**31 - 1
"""The highest task number: Spark numbers tasks by signed 32-bit integers."""

_MASTER = re.compile(
    r"local(\[([1-9]\d*|\*)(,[1-9]\d*)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|yarn|"
    r"(?!https?:)[a-z][a-z0-9+.-]*://\S+"
)


def option(
    panel: str,
    default: Any,
    description: str,
    *,
    metavar: str = "",
    free: bool = False,
    layout: bool = False,
    pinned: str = "",
    first: bool = False,
    **constraints: Any,
) -> Any:
    """Declare an option.

    Parameters
    ----------
    panel
        The panel of the help in which the option appears.
    default, description
        The default value and the help text of the option.
    metavar
        The name of the option's value in the help; empty: the type determines it.
    first
        Whether the option is basic; the short help of commands shows only basic options.
    free
        Whether the option may change when a run continues, because no result depends on it.
    layout
        Whether the option determines how epochs are laid out on workers. Such an option may change
        when a run continues. After a change, routers and planners discard what they learned under
        the old value.
    pinned
        Why the option cannot change when a run continues, for error messages; empty if the reason
        is obvious.
    constraints
        Constraints, as for `pydantic.Field`.
    """
    extra: dict[str, Any] = {"panel": panel, "metavar": metavar, "first": first}
    extra |= {"free": free or layout, "layout": layout, "pinned": pinned}
    return Field(default, description=description, json_schema_extra=extra, **constraints)


def fact(field: FieldInfo, name: str) -> Any:
    """Return a property that an option was declared with, such as ``panel`` or ``free``."""
    return cast("dict[str, Any]", field.json_schema_extra)[name]


def _path(value: object) -> object:
    if value == "":
        message = "must not be empty"
        raise ValueError(message)
    return Path(value).expanduser() if isinstance(value, str) else value


def _place(value: object) -> object:
    if isinstance(value, Path) and scheme_of(value) != "file":
        message = "a path cannot hold a URI; pass it as text"
        raise ValueError(message)
    if not isinstance(value, str | Path):
        message = "must be a path"
        raise ValueError(message)  # noqa: TRY004 - pydantic reports only ValueErrors as findings
    if not isinstance(value, str) or not value:
        return _path(value)
    if scheme_of(value) == "file":
        return local_path(value).expanduser()
    if without_password(value) != value:
        # The password would be stored with the options. The message must not repeat it either.
        message = "output: a URI must not contain a password; use the environment for credentials"
        raise ValueError(message)
    return value


def _master(value: str) -> str:
    if not value:
        message = "must not be empty"
        raise ValueError(message)
    # Accept any other scheme: plugins add cluster managers to Spark, which checks the scheme later.
    if not _MASTER.fullmatch(value):
        message = (
            "must be local, local[N], local-cluster[N,CORES,MB], spark://HOST:PORT, yarn or "
            "k8s://HOST:PORT"
        )
        raise ValueError(message)
    return value


Master = Annotated[str, AfterValidator(_master)]
"""A Spark master."""

AnyPath = Annotated[Path, BeforeValidator(_path)]
"""A path, in which ``~`` means the user's home."""


Place = Annotated[Path | str, BeforeValidator(_place)]
"""A path, or the unchanged URI of a location in a store; ``file:///...`` becomes a path."""


def paths(value: object) -> object:
    """Put a single path into a tuple; return other values unchanged."""
    return (value,) if isinstance(value, str | Path) else value


def texts(value: object) -> object:
    """Put a single text into a tuple; return other values unchanged."""
    return (value,) if isinstance(value, str) else value
