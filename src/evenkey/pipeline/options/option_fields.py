"""How options of a pipeline are declared."""

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
"""The highest number of a message."""
MOST_TASKS = 2**31 - 1
"""The highest number of a task of Spark's."""

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
        Under which the help shows it.
    default, description
        Its value where it is left out, and its help text.
    metavar
        What the help calls its value; else it goes by the type.
    first
        Whether a newcomer needs it: the help of commands with many options shows those first.
    free
        Whether it may change when a run goes on, since no result depends on it.
    layout
        Whether it may change too, and says how epochs are laid out on workers: what routers and
        planners learned under another value is not used any more.
    pinned
        Why it cannot change when a run goes on, where that is not plain to see.
    constraints
        Its limits, as for `pydantic.Field`.
    """
    extra: dict[str, Any] = {"panel": panel, "metavar": metavar, "first": first}
    extra |= {"free": free or layout, "layout": layout, "pinned": pinned}
    return Field(default, description=description, json_schema_extra=extra, **constraints)


def fact(field: FieldInfo, name: str) -> Any:
    """Give what an option is declared with: such as ``panel`` or ``free``."""
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
        raise ValueError(message)  # noqa: TRY004 - pydantic makes a finding of no other error
    if not isinstance(value, str) or not value:
        return _path(value)
    if scheme_of(value) == "file":
        return local_path(value).expanduser()
    if without_password(value) != value:
        # It would be written down with the options; what is at fault is not repeated.
        message = "output: a URI must not hold a password; credentials belong in the environment"
        raise ValueError(message)
    return value


def _master(value: str) -> str:
    if not value:
        message = "must not be empty"
        raise ValueError(message)
    # What other schemes there are is Spark's to say: cluster managers can be plugged in.
    if not _MASTER.fullmatch(value):
        message = (
            "must be local, local[N], local-cluster[N,CORES,MB], spark://HOST:PORT, yarn or "
            "k8s://HOST:PORT"
        )
        raise ValueError(message)
    return value


Master = Annotated[str, AfterValidator(_master)]
"""A master of Spark."""

AnyPath = Annotated[Path, BeforeValidator(_path)]
"""A path, where ``~`` stands for the user's home."""


Place = Annotated[Path | str, BeforeValidator(_place)]
"""A path, or the URI of a place in a store, as it is spelled; ``file:///...`` is a path."""


def paths(value: object) -> object:
    """Take one path for a list of one."""
    return (value,) if isinstance(value, str | Path) else value


def texts(value: object) -> object:
    """Take one text for a list of one."""
    return (value,) if isinstance(value, str) else value
