"""Places: how a user names a store, and which store that is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from evenkey.checking import check_path
from evenkey.errors import ConfigurationError
from evenkey.stores.local import LocalStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.stores.store import Store

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):/")


def scheme_of(place: str | Path) -> str:
    """Name the kind of store that a place is in; ``file`` for plain paths.

    Examples
    --------
    >>> scheme_of("s3a://bucket/state"), scheme_of("/data/state"), scheme_of("file:///data/state")
    ('s3a', 'file', 'file')
    """
    match = _SCHEME.match(str(place))
    return match[1].lower() if match else "file"


def store_at(place: str | Path | Store, settings: Mapping[str, str] | None = None) -> Store:
    """Give the store at a place.

    Parameters
    ----------
    place
        A path, a URI, or a store, which is given back.
    settings
        Names and values such as ``fs.s3a.endpoint``, as Hadoop knows them; what they lack is
        found in the environment.

    Raises
    ------
    ConfigurationError
        It is no place, or no store is known for its scheme.
    """
    from evenkey.stores.store import Store

    if isinstance(place, Store):
        return place
    check_path("place", place)
    del settings  # a disk needs none
    scheme = scheme_of(place)
    if scheme == "file":
        return LocalStore(local_path(place))
    message = (
        f"{place}: no store is known for {scheme}://; name a path that the driver and all "
        "executors share"
    )
    raise ConfigurationError(message)


def local_path(place: str | Path) -> Path:
    """Give the path of a place on a disk, which may be spelled ``file:///...``.

    Examples
    --------
    >>> local_path("file:///data/state").as_posix()
    '/data/state'
    """
    text = str(place)
    if _SCHEME.match(text):
        return Path(unquote(urlsplit(text).path))
    return Path(text)
