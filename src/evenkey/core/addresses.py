"""Hide passwords in the addresses that messages show."""

from __future__ import annotations

import re

# Digits up to a separator or the end are a port, not a password. In the patterns below, the second
# slash is optional, because a `Path` drops it.
_PORT = r"(?!\d{1,5}(?:[/?#,\s'\"]|$))"
_PASSWORDS = (
    # The whole text is an address: the password may contain any character.
    re.compile(rf"(?P<before>^[\w+.-]+://?[^\s/@:?#]*:){_PORT}.*(?=@)", re.DOTALL),
    # An address within a message, with or without quotes.
    re.compile(rf"(?P<before>(?<=['\"])[\w+.-]+://?[^\s/@:?#'\"]*:){_PORT}[^'\"]*(?=@)"),
    re.compile(rf"(?P<before>\b[\w+.-]+://?[^\s/@:?#]*:){_PORT}\S*(?=@)"),
    # Addresses of Kafka servers have no scheme, but always a port.
    re.compile(
        r"(?P<before>(?:^|(?<=[\s'\"(\[,=]))[^\s/@:?#'\"(,=]*:)(?!//)\S*"
        r"(?=@(?:\[[^\]\s]*\]|[^\s@/:]+):\d)"
    ),
)
_SECRET_OPTION = re.compile(
    r"(?P<before>[?&;][^=&;\s]*(?:password|passwd|secret|token|delegation|\.pem|credential)[^=&;\s]*=)"
    r"[^&;#\s'\"]*",
    re.IGNORECASE,
)


def without_password(text: str) -> str:
    """Replace passwords and tokens by ``***`` in an address, or in a message with addresses.

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
