"""A store in Google Cloud Storage."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from evenkey.core.extras import load_extra
from evenkey.core.stores.buckets import NONCE, Bucket, Verdict
from evenkey.core.stores.object_store import ObjectStore
from evenkey.core.stores.patience import ANSWER, CONNECT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KEY_FILES = (
    "fs.gs.auth.service.account.json.keyfile",
    "google.cloud.auth.service.account.json.keyfile",
)
_EMULATOR = "STORAGE_EMULATOR_HOST"
_LIMITS: dict[str, Any] = {"timeout": (CONNECT, ANSWER), "retry": None}
_PRECONDITION, _TOO_MANY, _SERVER_ERRORS, _SLOW = 412, 429, 500, 408


class GcsStore(ObjectStore):
    """Objects in Google Cloud Storage, at ``gs://bucket/prefix``.

    `create` uploads an object on the condition that its generation is 0, which means that the
    object does not exist yet.
    """

    prefixes = ("fs.gs.", "google.cloud.")

    @staticmethod
    def bucket(scheme: str, name: str, settings: Mapping[str, str]) -> Bucket:
        """Return the bucket."""
        del scheme
        return GcsBucket(name, settings)


class GcsBucket(Bucket):
    """One bucket, accessed through the package google-cloud-storage."""

    def __init__(self, name: str, settings: Mapping[str, str]) -> None:
        self.name = name
        self._settings = dict(settings)

    @property
    def _bucket(self) -> Any:
        return _client(os.getpid(), tuple(sorted(self._settings.items()))).bucket(self.name)

    def read(self, key: str) -> bytes:
        """Get an object."""
        content: bytes = self._bucket.blob(key).download_as_bytes(**_LIMITS)
        return content

    def put(self, key: str, content: bytes) -> None:
        """Put an object."""
        self._bucket.blob(key).upload_from_string(content, **_LIMITS)

    def create(self, key: str, content: bytes, nonce: str) -> None:
        """Put an object with its nonce; the server refuses if the key exists already."""
        blob = self._bucket.blob(key)
        blob.metadata = {NONCE: nonce}
        blob.upload_from_string(content, if_generation_match=0, **_LIMITS)

    def nonce(self, key: str) -> str | None:
        """Read the nonce in the metadata of an object."""
        blob = self._bucket.blob(key)
        blob.reload(**_LIMITS)
        found: str | None = (blob.metadata or {}).get(NONCE)
        return found

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys that begin with a prefix; the server lists them page by page."""
        for blob in self._bucket.list_blobs(prefix=prefix, **_LIMITS):
            yield blob.name

    def delete(self, key: str) -> None:
        """Delete an object."""
        self._bucket.blob(key).delete(**_LIMITS)

    def verdict(self, error: Exception) -> Verdict:
        """Classify an error by its HTTP status; a missing bucket is a permanent failure."""
        import requests
        from google.api_core.exceptions import GoogleAPICallError, NotFound
        from google.auth.exceptions import TransportError

        if isinstance(error, GoogleAPICallError):
            if isinstance(error, NotFound):
                absent = "bucket does not exist" not in str(error)
                return Verdict.ABSENT if absent else Verdict.FINAL
            status = int(error.code or 0)
            if status == _PRECONDITION:
                return Verdict.TAKEN
            passing = status >= _SERVER_ERRORS or status in {_TOO_MANY, _SLOW}
            return Verdict.PASSING if passing else Verdict.FINAL
        broken = (requests.ConnectionError, requests.Timeout, TransportError, ConnectionError)
        if isinstance(error, (*broken, requests.exceptions.ChunkedEncodingError)):
            return Verdict.PASSING
        return Verdict.FINAL

    def secrets(self) -> list[str]:
        """Return an empty list: settings only name the file that contains the secrets."""
        return []


@lru_cache(maxsize=16)
def _client(process: int, settings: tuple[tuple[str, str], ...]) -> Any:
    """Make the client of a process; it uses a key file or Google's default credentials."""
    del process
    storage = load_extra("google.cloud.storage", "gcs", "state in Google Cloud Storage")
    given = dict(settings)
    project = given.get("fs.gs.project.id")
    if os.environ.get(_EMULATOR):
        return storage.Client.create_anonymous_client()
    for name in _KEY_FILES:
        if given.get(name):
            return storage.Client.from_service_account_json(given[name], project=project)
    return storage.Client(project=project)
