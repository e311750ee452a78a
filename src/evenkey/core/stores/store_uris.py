"""Storage locations: check the path or URI that a user writes, and return the store at it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from evenkey.core.addresses import without_password
from evenkey.core.checking import check_path
from evenkey.core.errors import ConfigurationError
from evenkey.core.stores.base import Store
from evenkey.core.stores.local import LocalStore

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):/")


def scheme_of(place: str | Path) -> str:
    """Return the scheme of a storage location; ``file`` for a path without a scheme.

    Examples
    --------
    >>> scheme_of("s3a://bucket/state"), scheme_of("/data/state"), scheme_of("file:///data/state")
    ('s3a', 'file', 'file')
    """
    match = _SCHEME.match(str(place))
    return match[1].lower() if match else "file"


def store_at(place: str | Path | Store, settings: Mapping[str, str] | None = None) -> Store:
    """Return the store at a storage location; the store connects when it is first used.

    Parameters
    ----------
    place
        A path, a URI, or a store, which is returned unchanged. A relative path is made absolute
        with the working directory of this process, because tasks run in other directories.
    settings
        Hadoop settings by name, such as ``fs.s3a.endpoint``. Missing settings are read from the
        environment. The settings are sent to tasks with the store, and no message contains them.

    Raises
    ------
    ConfigurationError
        `place` is not a storage location, contains a password, or has an unknown scheme.
    """
    if isinstance(place, Store):
        return place
    check_path("place", place)
    scheme = scheme_of(place)
    if scheme != "file":
        return _remote(scheme, str(place), settings or {})
    return LocalStore(local_path(place).absolute())


def _remote(scheme: str, place: str, settings: Mapping[str, str]) -> Store:
    """Check a URI, and return the store at it."""
    shown = without_password(place)
    if shown != place:
        message = (
            f"{shown}: a storage location must not contain a password, because locations are "
            "logged and stored; pass "
            "credentials by the environment or by spark.hadoop.fs.* settings"
        )
        raise ConfigurationError(message)
    if scheme not in _KINDS:
        known = ", ".join(f"{each}://" for each in _KINDS)
        message = (
            f"{place}: no store is known for {scheme}://; name a path that the driver and all "
            f"executors share, or a URI that begins with one of {known}"
        )
        raise ConfigurationError(message)
    _, slashes, rest = place.partition("://")
    if not slashes:
        message = f"{place}: must begin with {scheme}://NAME; pass it as text: a Path drops a slash"
        raise ConfigurationError(message)
    if not rest.partition("/")[0]:
        message = f"{place}: no bucket or host is named; pass {scheme}://name/directory"
        raise ConfigurationError(message)
    module, name = _KINDS[scheme]
    kind = getattr(import_module(f"evenkey.core.stores.{module}"), name)
    store: Store = kind(place, settings)
    return store


_KINDS = {
    "s3": ("s3", "S3Store"),
    "s3a": ("s3", "S3Store"),
    "hdfs": ("hdfs", "HdfsStore"),
    "webhdfs": ("hdfs", "HdfsStore"),
    "gs": ("gcs", "GcsStore"),
    "abfs": ("abfs", "AbfsStore"),
    "abfss": ("abfs", "AbfsStore"),
}
"""For each scheme, the module and the class of its store. Modules are loaded when first needed."""


def local_path(place: str | Path) -> Path:
    """Return the path of a storage location on disk, written as a path or as ``file:///...``.

    Examples
    --------
    >>> local_path("file:///data/state").as_posix()
    '/data/state'
    """
    text = str(place)
    if _SCHEME.match(text):
        return Path(unquote(urlsplit(text).path))
    return Path(text)
