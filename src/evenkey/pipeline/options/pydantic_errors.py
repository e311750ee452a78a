"""Convert pydantic's errors to sentences: the field, its value, and the allowed values."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from evenkey.core.spelling import unknown_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pydantic import ValidationError

_WANTED = {
    "bool": "must be true or false",
    "finite": "must be a finite number",
    "float": "must be a number",
    "greater_than": "must be above {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "int": "must be a whole number",
    "less_than_equal": "must be at most {le:g}",
    "path": "must be a path",
    "string": "must be text",
    "string_too_short": "must not be empty",
    "tuple": "must be text or a list of texts",
}


def describe(
    error: ValidationError, known: Collection[str], sources: Mapping[str, object] | None = None
) -> str:
    """Describe pydantic's findings, one line per finding.

    Parameters
    ----------
    error
        The error from pydantic.
    known
        Names of all options.
    sources
        For the name of a field, the file that contains the value of the field; None: no files.

    Returns
    -------
    str
        Lines such as ``workers = 0: must be at least 1``.
    """
    lines = []
    for finding in error.errors():
        field = str(finding["loc"][0]) if finding["loc"] else ""
        source = (sources or {}).get(field)
        sentence = _sentence(field, finding, known)
        lines.append(sentence if source is None else f"{source}: {sentence}")
    return "\n".join(lines)


def _sentence(field: str, finding: Any, known: Collection[str]) -> str:
    kind, value, context = finding["type"], finding["input"], finding.get("ctx", {})
    if kind == "extra_forbidden":
        return str(unknown_name("option", field, known))
    if kind == "value_error":
        message = str(context["error"])
        if message.startswith(repr(value)):
            return f"{field} = {message}"
        return message if not field or field in message else f"{field} = {value!r}: {message}"
    if kind == "literal_error":
        return f"{field} = {value!r}: {_choices(value, context['expected'])}"
    wanted = _WANTED.get(kind) or _WANTED.get(kind.partition("_")[0], finding["msg"])
    # A value out of range has been parsed as a number, even if it was text.
    shown = value if kind.startswith(("greater", "less")) else repr(value)
    return f"{field} = {shown}: {wanted.format(**context)}"


def _choices(value: object, expected: str) -> str:
    """Return a message with the allowed values; `expected` is pydantic's ``'a', 'b' or 'c'``."""
    choices = [each for each in expected.split("'") if each not in ("", ", ", " or ")]
    near = difflib.get_close_matches(str(value), choices, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"must be one of {', '.join(choices)}{hint}"
