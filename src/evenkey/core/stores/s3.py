"""A store in S3, of Amazon or of another provider with the same protocol."""

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

_SECRET = ("access.key", "secret.key", "session.token")
_ANONYMOUS = "AnonymousAWSCredentialsProvider"
_PASSING_CODES = {
    "ConditionalRequestConflict",
    "InternalError",
    "OperationAborted",
    "RequestTimeout",
    "ServiceUnavailable",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
}
_TOO_MANY, _SERVER_ERRORS, _PRECONDITION, _NOT_FOUND = 429, 500, 412, 404
_KNOWN = frozenset(
    {
        *("endpoint", "endpoint.region", "path.style.access", "connection.ssl.enabled"),
        *("access.key", "secret.key", "session.token", "aws.credentials.provider"),
    }
)
"""Names of the settings that evenkey reads, without ``fs.s3a.``; a session can have others."""
_conditions_held: set[tuple[int, str, str]] = set()
"""Process id, endpoint and bucket of each server that is known to refuse a second creation."""


class S3Store(ObjectStore):
    """Objects in S3, at ``s3://bucket/prefix`` or ``s3a://bucket/prefix``.

    `create` puts an object with the header ``If-None-Match: *``, so that the server refuses if the
    object exists. The first call of `create` in a process checks that the server respects this
    header, and raises OSError if it does not.
    """

    prefixes = ("fs.s3a.",)

    @staticmethod
    def bucket(scheme: str, name: str, settings: Mapping[str, str]) -> Bucket:
        """Return the bucket."""
        del scheme
        return S3Bucket(name, settings)


class S3Bucket(Bucket):
    """One bucket, accessed through the package boto3."""

    def __init__(self, name: str, settings: Mapping[str, str]) -> None:
        self.name = name
        self._options = options_of(name, settings)

    @property
    def _client(self) -> Any:
        # A client cannot be used after a fork. So each process has one client for all its threads.
        return _client(os.getpid(), tuple(sorted(self._options.items())))

    def read(self, key: str) -> bytes:
        """Get an object."""
        content: bytes = self._client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return content

    def put(self, key: str, content: bytes) -> None:
        """Put an object."""
        self._client.put_object(Bucket=self.name, Key=key, Body=content)

    def create(self, key: str, content: bytes, nonce: str) -> None:
        """Put an object with its nonce; the server refuses if the key exists already."""
        self._create(key, content, nonce)
        known = (os.getpid(), self._options.get("endpoint", ""), self.name)
        if known not in _conditions_held:
            try:
                self._create(key, content, nonce)
            except Exception as error:
                if self.verdict(error) is not Verdict.TAKEN:
                    raise
                _conditions_held.add(known)
            else:
                server = self._options.get("endpoint", "") or "Amazon S3"
                message = (
                    f"bucket {self.name} at {server}: the server overwrites objects despite "
                    "If-None-Match, so two processes could write the same output; use a server "
                    "that supports If-None-Match"
                )
                raise OSError(message)

    def _create(self, key: str, content: bytes, nonce: str) -> None:
        self._client.put_object(
            Bucket=self.name, Key=key, Body=content, IfNoneMatch="*", Metadata={NONCE: nonce}
        )

    def nonce(self, key: str) -> str | None:
        """Read the nonce in the metadata of an object."""
        found: dict[str, str] = self._client.head_object(Bucket=self.name, Key=key)["Metadata"]
        return found.get(NONCE)

    def keys(self, prefix: str) -> Iterator[str]:
        """Yield the keys that begin with a prefix; the server lists them in pages of 1,000."""
        pages = self._client.get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=self.name, Prefix=prefix):
            for each in page.get("Contents", []):
                yield each["Key"]

    def delete(self, key: str) -> None:
        """Delete an object; S3 reports no error if the object does not exist."""
        self._client.delete_object(Bucket=self.name, Key=key)

    def verdict(self, error: Exception) -> Verdict:
        """Classify an error by S3's error code; a broken connection is a transient failure."""
        from botocore.exceptions import (
            ClientError,
            ConnectionError,  # noqa: A004 - its own name
            HTTPClientError,
            IncompleteReadError,
            SSLError,
        )

        if isinstance(error, ClientError):
            code = error.response.get("Error", {}).get("Code", "")
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            if status == _PRECONDITION:
                return Verdict.TAKEN
            if code == "NoSuchKey" or (status == _NOT_FOUND and code == "404"):
                return Verdict.ABSENT
            if status >= _SERVER_ERRORS or status == _TOO_MANY or code in _PASSING_CODES:
                return Verdict.PASSING
            return Verdict.FINAL
        broken = isinstance(error, (ConnectionError, HTTPClientError, IncompleteReadError))
        return Verdict.PASSING if broken and not isinstance(error, SSLError) else Verdict.FINAL

    def fix(self, error: Exception) -> str:
        """Return how to pass credentials, if the error is that they are missing."""
        from botocore.exceptions import NoCredentialsError, PartialCredentialsError

        if isinstance(error, (NoCredentialsError, PartialCredentialsError)):
            return (
                "set spark.hadoop.fs.s3a.access.key and spark.hadoop.fs.s3a.secret.key of the "
                "session, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY on all hosts"
            )
        return ""

    def secrets(self) -> list[str]:
        """Return the keys and the session token that the settings contain."""
        return [self._options[name] for name in _SECRET if self._options.get(name)]


def options_of(bucket: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a bucket; settings for this bucket override settings for all buckets.

    Examples
    --------
    >>> options_of("a", {"fs.s3a.endpoint": "x:1", "fs.s3a.bucket.a.endpoint": "y:2"})
    {'endpoint': 'y:2'}
    """
    general = {
        name.removeprefix("fs.s3a."): value
        for name, value in settings.items()
        if not name.startswith("fs.s3a.bucket.")
    }
    own = {
        name.removeprefix(f"fs.s3a.bucket.{bucket}."): value
        for name, value in settings.items()
        if name.startswith(f"fs.s3a.bucket.{bucket}.")
    }
    return {name: value for name, value in (general | own).items() if name in _KNOWN}


@lru_cache(maxsize=16)
def _client(process: int, options: tuple[tuple[str, str], ...]) -> Any:
    """Make the client of a process; boto3 itself finds what is not in the settings."""
    del process
    boto3 = load_extra("boto3", "s3", "state in S3")
    from botocore import UNSIGNED
    from botocore.config import Config

    given = dict(options)
    endpoint = _endpoint(given)
    settings: dict[str, Any] = {
        "connect_timeout": CONNECT,
        "read_timeout": ANSWER,
        "retries": {"total_max_attempts": 1, "mode": "standard"},
        "s3": {"addressing_style": _addressing(given)},
    }
    if endpoint:
        # Some servers of other providers do not know the checksums that Amazon's clients add.
        settings["request_checksum_calculation"] = "when_required"
        settings["response_checksum_validation"] = "when_required"
    if given.get("aws.credentials.provider", "").endswith(_ANONYMOUS):
        settings["signature_version"] = UNSIGNED
    # A new session, because the default session of boto3 is not thread-safe.
    session = boto3.session.Session()
    region = given.get("endpoint.region") or os.environ.get("AWS_REGION") or session.region_name
    return session.client(
        "s3",
        endpoint_url=endpoint,
        region_name=region or "us-east-1",
        aws_access_key_id=given.get("access.key"),
        aws_secret_access_key=given.get("secret.key"),
        aws_session_token=given.get("session.token"),
        config=Config(**settings),
    )


def _endpoint(given: Mapping[str, str]) -> str | None:
    endpoint = given.get("endpoint", "").strip()
    if not endpoint:
        return None
    if "://" in endpoint:
        return endpoint
    secure = given.get("connection.ssl.enabled", "true").lower() != "false"
    return f"{'https' if secure else 'http'}://{endpoint}"


def _addressing(given: Mapping[str, str]) -> str:
    return "path" if given.get("path.style.access", "").lower() == "true" else "auto"
