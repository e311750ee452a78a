"""A store in a bucket of an object store of any provider."""

from __future__ import annotations

import errno
import uuid
from abc import abstractmethod
from copy import copy
from typing import TYPE_CHECKING

from evenkey.core.errors import EvenkeyError
from evenkey.core.stores.base import Store
from evenkey.core.stores.buckets import Bucket, Verdict
from evenkey.core.stores.patience import PATIENCE, patiently

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self, TypeVar

    Result = TypeVar("Result")


class ObjectStore(Store):
    """Objects of a bucket whose keys begin with a prefix.

    A call that fails for a transient reason is repeated for up to `PATIENCE` seconds. `create`
    stays exclusive even if a response is lost: each call stores a nonce (a random text) with the
    object, so that a repeated call recognizes the object that it has already created.

    Parameters
    ----------
    place
        ``scheme://bucket/prefix``.
    settings
        Hadoop settings by name. The store keeps only the settings that its client uses, and sends
        only these to tasks.
    """

    def __init__(self, place: str, settings: Mapping[str, str]) -> None:
        self._url = place.rstrip("/")
        scheme, _, rest = self._url.partition("://")
        bucket, _, self._prefix = rest.partition("/")
        own = {name: value for name, value in settings.items() if name.startswith(self.prefixes)}
        self._bucket = self.bucket(scheme, bucket, own)

    prefixes: tuple[str, ...]
    """Prefixes of the names of the settings that this kind of store uses."""

    @staticmethod
    @abstractmethod
    def bucket(scheme: str, name: str, settings: Mapping[str, str]) -> Bucket:
        """Return the bucket, without connecting to it."""

    @property
    def url(self) -> str:
        """The URI that was passed, without credentials."""
        return self._url

    def under(self, name: str) -> Self:
        """Return a store whose prefix is this prefix followed by ``/name``."""
        longer = copy(self)
        vars(longer).update(_url=f"{self._url}/{name}", _prefix=self._key(name))
        return longer

    def read(self, name: str) -> bytes:
        """Get an object."""
        key = self._key(name)
        return self._do(name, lambda: self._bucket.read(key))

    def put(self, name: str, content: bytes, *, durable: bool = False) -> None:
        """Put an object; it is durable whatever `durable` says."""
        del durable
        key = self._key(name)
        self._do(name, lambda: self._bucket.put(key, content))

    def create(self, name: str, content: bytes, *, durable: bool = False) -> bool:
        """Put an object unless its key exists; the server checks this in the same request."""
        del durable
        key, nonce = self._key(name), uuid.uuid4().hex

        def attempt() -> bool:
            try:
                self._bucket.create(key, content, nonce)
            except Exception as error:
                if self._bucket.verdict(error) is not Verdict.TAKEN:
                    raise
                return self._is_mine(key, nonce)
            return True

        return self._do(name, attempt)

    def _is_mine(self, key: str, nonce: str) -> bool:
        try:
            return self._bucket.nonce(key) == nonce
        except Exception as error:
            if self._bucket.verdict(error) is Verdict.ABSENT:
                raise _GoneAgainError from None
            raise

    def names(self, name: str = "") -> list[str]:
        """Return the sorted names under a prefix; the server lists them page by page."""
        start = len(self._key(""))
        prefix = self._key(f"{name}/" if name else "")
        # Some programs mark a directory by an object whose key ends with a slash.
        return self._do(
            name,
            lambda: sorted(
                key[start:] for key in self._bucket.keys(prefix) if not key.endswith("/")
            ),
        )

    def delete(self, name: str) -> None:
        """Delete an object."""
        self._drop(name, self._key(name))

    def clear(self) -> None:
        """Delete all objects, then directory marks; to Spark, a marked directory is not empty."""
        super().clear()
        marks = self._do("", lambda: self._bucket.directories(self._key("")))
        for key in sorted(marks, reverse=True):
            self._drop("", key)

    def _drop(self, name: str, key: str) -> None:
        def attempt() -> None:
            try:
                self._bucket.delete(key)
            except Exception as error:
                if self._bucket.verdict(error) is not Verdict.ABSENT:
                    raise

        self._do(name, attempt)

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}" if self._prefix else name

    def _do(self, name: str, call: Callable[[], Result]) -> Result:
        try:
            return patiently(call, self._passes)
        except EvenkeyError:
            raise
        except Exception as error:  # noqa: BLE001 - clients raise errors of any kind
            # Hide the cause, because the client's error may contain secrets.
            raise self._as_os_error(name, error) from None

    def _passes(self, error: Exception) -> bool:
        if isinstance(error, EvenkeyError):
            return False
        return isinstance(error, _GoneAgainError) or self._bucket.verdict(error) is Verdict.PASSING

    def _as_os_error(self, name: str, error: Exception) -> OSError:
        where = self.path(name)
        if self._bucket.verdict(error) is Verdict.ABSENT:
            return FileNotFoundError(errno.ENOENT, "there is no such object", where)
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"
        for secret in self._bucket.secrets():
            text = text.replace(secret, "...")
        since = f" for {PATIENCE:.0f} seconds" if self._passes(error) else ""
        fix = self._bucket.fix(error)
        last = f"; {fix}" if fix else ""
        return OSError(f"{where}: the store failed{since}: {text}{last}")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ObjectStore)
            and type(other) is type(self)
            and (self._url, self._bucket) == (other._url, other._bucket)
        )

    def __hash__(self) -> int:
        return hash(self._url)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"


class _GoneAgainError(Exception):
    """The object that made `create` fail is gone meanwhile: call `create` again."""
