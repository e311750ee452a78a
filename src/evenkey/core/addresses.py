"""Addresses in messages: they are shown without passwords."""

from __future__ import annotations

import re

# Digits that end there are a port. Paths have lost the second of two slashes.
_PORT = r"(?!\d{1,5}(?:[/?#,\s'\"]|$))"
_PASSWORDS = (
    # A text that is an address as a whole: the password may hold anything.
    re.compile(rf"(?P<before>^[\w+.-]+://?[^\s/@:?#]*:){_PORT}.*(?=@)", re.DOTALL),
    # An address within a message, in quotes or without.
    re.compile(rf"(?P<before>(?<=['\"])[\w+.-]+://?[^\s/@:?#'\"]*:){_PORT}[^'\"]*(?=@)"),
    re.compile(rf"(?P<before>\b[\w+.-]+://?[^\s/@:?#]*:){_PORT}\S*(?=@)"),
    # Kafka's servers have no scheme, but always a port.
    re.compile(
        r"(?P<before>(?:^|(?<=[\s'\"(\[,=]))[^\s/@:?#'\"(,=]*:)(?!//)\S*"
        r"(?=@(?:\[[^\]\s]*\]|[^\s@/:]+):\d)"
    ),
)
_SECRET_OPTION = re.compile(
    r"(?P<before>[?&;][^=&;\s]*(?:password|passwd|secret|token|\.pem|credential)[^=&;\s]*=)"
    r"[^&;#\s'\"]*",
    re.IGNORECASE,
)


def without_password(text: str) -> str:
    """Hide passwords in the addresses of a text: an address itself, or a message that holds some.

    Examples
    --------
    >>> without_password("influxdb://me:secret@localhost/evenkey")
    'influxdb://me:***@localhost/evenkey'
    >>> without_password("'me:secret@localhost:9092' is no HOST:PORT")
    "'me:***@localhost:9092' is no HOST:PORT"
    >>> without_password("https://localhost:8086/write?db=x&token=secret")
    'https://localhost:8086/write?db=x&token=***'
    """
    for password in _PASSWORDS:
        text = password.sub(r"\g<before>***", text)
    return _SECRET_OPTION.sub(r"\g<before>***", text)
