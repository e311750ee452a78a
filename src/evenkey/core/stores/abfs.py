"""A store in Azure: Blob Storage or Data Lake Storage."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError
from evenkey.core.extras import load_extra
from evenkey.core.stores.buckets import NONCE, Bucket, Verdict
from evenkey.core.stores.object_store import ObjectStore
from evenkey.core.stores.patience import ANSWER, CONNECT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CONNECTION = "AZURE_STORAGE_CONNECTION_STRING"
_FOLDER = "hdi_isfolder"
_OF_AZURE = re.compile(
    r"([\w-]+\.)+(core\.(windows\.net|chinacloudapi\.cn|usgovcloudapi\.net)|fabric\.microsoft\.com)",
    re.ASCII,
)
"""Matches the names of Azure's own servers, which may get tokens of the environment."""
_TOO_MANY, _SERVER_ERRORS, _SLOW = 429, 500, 408


class AbfsStore(ObjectStore):
    """Blobs in Azure, at ``abfss://container@account.dfs.core.windows.net/prefix``.

    `create` puts a blob with the header ``If-None-Match: *``, so that Azure refuses if the blob
    exists.
    """

    prefixes = ("fs.azure.",)

    @staticmethod
    def bucket(scheme: str, name: str, settings: Mapping[str, str]) -> Bucket:
        """Return the container that the URI names, without connecting to it."""
        container, at, host = name.partition("@")
        if not at or not container or not host:
            message = (
                f"{scheme}://{name}: must name a container and an account; pass "
                f"{scheme}://container@account.dfs.core.windows.net/directory"
            )
            raise ConfigurationError(message)
        return AbfsContainer(container, host, settings)


class AbfsContainer(Bucket):
    """One container, accessed through the package azure-storage-blob."""

    def __init__(self, name: str, host: str, settings: Mapping[str, str]) -> None:
        self.name, self.host = name, host
        self._key = settings.get(f"fs.azure.account.key.{host}", "")
        self._signature = settings.get(f"fs.azure.sas.fixed.token.{host}", "")

    @property
    def _container(self) -> Any:
        client = _client(os.getpid(), self.host, self._key, self._signature)
        return client.get_container_client(self.name)

    def read(self, key: str) -> bytes:
        """Get a blob."""
        content: bytes = self._container.download_blob(key).readall()
        return content

    def put(self, key: str, content: bytes) -> None:
        """Put a blob."""
        self._container.upload_blob(key, content, overwrite=True)

    def create(self, key: str, content: bytes, nonce: str) -> None:
        """Put a blob with its nonce; the server refuses if the key exists already."""
        self._container.upload_blob(key, content, overwrite=False, metadata={NONCE: nonce})

    def nonce(self, key: str) -> str | None:
        """Read the nonce in the metadata of a blob."""
        metadata = self._container.get_blob_client(key).get_blob_properties().metadata
        found: str | None = (metadata or {}).get(NONCE)
        return found

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys with a prefix, without blobs that mark directories in a data lake."""
        for name, is_folder in self._listed(prefix):
            if not is_folder:
                yield name

    def directories(self, prefix: str) -> list[str]:
        """Return the keys of the blobs that mark directories in a data lake."""
        return [name for name, is_folder in self._listed(prefix) if is_folder]

    def _listed(self, prefix: str) -> Iterator[tuple[str, bool]]:
        for blob in self._container.list_blobs(name_starts_with=prefix, include=["metadata"]):
            yield blob.name, bool((blob.metadata or {}).get(_FOLDER))

    def delete(self, key: str) -> None:
        """Delete a blob."""
        self._container.delete_blob(key)

    def verdict(self, error: Exception) -> Verdict:
        """Classify an error by Azure's error code; a broken connection is a transient failure."""
        from azure.core.exceptions import (
            HttpResponseError,
            IncompleteReadError,
            ServiceRequestError,
            ServiceResponseError,
        )

        broken = (IncompleteReadError, ServiceRequestError, ServiceResponseError)
        if isinstance(error, broken):
            return Verdict.PASSING
        if not isinstance(error, HttpResponseError):
            return Verdict.FINAL
        code = str(getattr(error, "error_code", "") or "")
        status = error.status_code or 0
        if code.endswith("BlobAlreadyExists"):
            return Verdict.TAKEN
        # The answer to a request for properties has no body, so status 404 comes without a code.
        if code.endswith("BlobNotFound") or (status == 404 and not code):  # noqa: PLR2004
            return Verdict.ABSENT
        passing = status >= _SERVER_ERRORS or status in {_TOO_MANY, _SLOW}
        return Verdict.PASSING if passing else Verdict.FINAL

    def secrets(self) -> list[str]:
        """Return the account key and the signature (SAS token) that the settings contain."""
        return [each for each in (self._key, self._signature) if each]


@lru_cache(maxsize=16)
def _client(process: int, host: str, key: str, signature: str) -> Any:
    """Make the client of a process; without key or signature, use the environment's credentials."""
    del process
    blob = load_extra("azure.storage.blob", "abfs", "state in Azure")
    limits = {"retry_total": 0, "connection_timeout": CONNECT, "read_timeout": ANSWER}
    connection = os.environ.get(_CONNECTION, "")
    account = host.partition(".")[0]
    if f"AccountName={account};" in f"{connection};":
        return blob.BlobServiceClient.from_connection_string(connection, **limits)
    url = f"https://{host.replace('.dfs.', '.blob.', 1)}"
    credential: Any = key or signature
    if key:
        credential = {"account_name": account, "account_key": key}
    elif not signature:
        if not _OF_AZURE.fullmatch(host):
            message = (
                f"{host}: is not a server of Azure, so it does not get the credentials of the "
                f"environment; pass the setting fs.azure.account.key.{host}, or "
                f"fs.azure.sas.fixed.token.{host}"
            )
            raise ConfigurationError(message)
        identity = load_extra("azure.identity", "abfs", "state in Azure")
        credential = identity.DefaultAzureCredential()
    return blob.BlobServiceClient(url, credential=credential, **limits)
