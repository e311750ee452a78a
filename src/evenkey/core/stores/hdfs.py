"""A store in a directory of HDFS, reached over WebHDFS without Java or native libraries."""

from __future__ import annotations

import errno
import getpass
import json
import os
import uuid
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from evenkey.core.errors import EvenkeyError
from evenkey.core.stores.base import Store
from evenkey.core.stores.patience import PATIENCE, patiently
from evenkey.core.stores.webhdfs import (
    ADDRESSES,
    RemoteError,
    ask,
    is_of_requests,
    namenodes_of,
    passes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self, TypeVar

    Result = TypeVar("Result")

_ABSENT = "FileNotFoundException"
_TAKEN = {"FileAlreadyExistsException"}
_HOLDS = "PathIsNotEmptyDirectoryException"


class HdfsStore(Store):
    """Files under a directory of HDFS.

    A file is first written in the same directory, under a temporary name that begins with a dot,
    and then renamed. The namenode renames atomically. For `create`, evenkey asks the namenode to
    refuse if the target exists. A request whose answer is lost is repeated; if the temporary file
    is gone by then, the earlier request has renamed it. So `create` returns the correct result even
    if an answer is lost.

    Parameters
    ----------
    place
        ``hdfs://host:port/directory`` or ``webhdfs://host:port/directory``.
    settings
        Hadoop settings. Only settings whose names begin with ``dfs.`` are kept; the docstring of
        `namenodes_of` says which settings are read.
    user
        User name that is sent to the namenode; a namenode without authentication trusts it. None:
        the user in `place`, else the user in ``HADOOP_USER_NAME``, else the user who runs this
        process. Tasks use the user name of the driver.
    """

    def __init__(self, place: str, settings: Mapping[str, str], user: str | None = None) -> None:
        self._url = place.rstrip("/")
        self._settings = {k: v for k, v in settings.items() if k.startswith("dfs.")}
        parts = urlsplit(self._url)
        self._root = unquote(parts.path)
        asked = user or parts.username or os.environ.get("HADOOP_USER_NAME")
        self._user = asked or getpass.getuser()

    @property
    def url(self) -> str:
        """The URI that was passed."""
        return self._url

    @property
    def named_servers(self) -> list[str]:
        """Namenodes on the host of the URI, unless ``EVENKEY_WEBHDFS`` names the namenodes."""
        if os.environ.get(ADDRESSES):
            return []
        host = urlsplit(self._url).hostname
        namenodes = namenodes_of(self._url, self._settings)
        return [each for each in namenodes if urlsplit(each).hostname == host]

    def under(self, name: str) -> Self:
        """Return the store of a subdirectory."""
        return type(self)(f"{self._url}/{name}", self._settings, self._user)

    def read(self, name: str) -> bytes:
        """Read a file."""
        return self._do(name, lambda: self._ask("GET", name, "OPEN"))

    def put(self, name: str, content: bytes, *, durable: bool = False) -> None:
        """Write a file under a temporary name, then rename it."""
        del durable
        self._write(name, content, replace=True)

    def create(self, name: str, content: bytes, *, durable: bool = False) -> bool:
        """Write a file under a temporary name, then rename it if the target does not exist."""
        del durable
        return self._write(name, content, replace=False)

    def _write(self, name: str, content: bytes, *, replace: bool) -> bool:
        directory, _, last = name.rpartition("/")
        beside = f"{directory}/.{last}.{uuid.uuid4().hex}".lstrip("/")
        # `delete` also deletes a directory that has become empty. The temporary file prevents this
        # while we write.
        self._do(name, lambda: self._ask("PUT", beside, "CREATE", content, overwrite="true"))
        if self._do(name, lambda: self._rename(beside, name, replace=replace)):
            return True
        self.delete(beside)
        return False

    def _rename(self, beside: str, name: str, *, replace: bool) -> bool:
        options = "OVERWRITE" if replace else "NONE"
        goal = f"{self._root}/{name}"
        try:
            self._ask("PUT", beside, "RENAME", destination=goal, renameoptions=options)
        except RemoteError as error:
            if error.kind == _ABSENT:  # an earlier call renamed it, and its answer was lost
                return True
            if error.kind in _TAKEN and not replace:
                return False
            raise
        return True

    def names(self, name: str = "") -> list[str]:
        """Return the sorted names of files under a subdirectory, except files being written."""
        return sorted(self._files(name))

    def _files(self, directory: str) -> list[str]:
        try:
            listed = self._do(directory, lambda: self._ask("GET", directory, "LISTSTATUS"))
        except FileNotFoundError:
            return []
        files: list[str] = []
        for each in json.loads(listed)["FileStatuses"]["FileStatus"]:
            path = f"{directory}/{each['pathSuffix']}" if directory else each["pathSuffix"]
            if not each["pathSuffix"] or each["pathSuffix"].startswith("."):
                continue  # `directory` is itself a file, or the file is still being written
            files += self._files(path) if each["type"] == "DIRECTORY" else [path]
        return files

    def delete(self, name: str) -> None:
        """Delete a file, then each of its parent directories below the root that is empty."""
        self._do(name, lambda: self._ask("DELETE", name, "DELETE", recursive="false"))
        parent = name.rpartition("/")[0]
        while parent:
            try:
                self._do(parent, lambda at=parent: self._ask("DELETE", at, "DELETE"))  # type: ignore[misc]
            except _HoldsError:
                return
            parent = parent.rpartition("/")[0]

    def clear(self) -> None:
        """Delete the directory."""
        if not self._root.strip("/"):
            super().clear()
            return
        self._do("", lambda: self._ask("DELETE", "", "DELETE", recursive="true"))

    def _ask(
        self, method: str, name: str, operation: str, content: bytes | None = None, **more: str
    ) -> bytes:
        path = f"{self._root}/{name}" if name else self._root or "/"
        namenodes = namenodes_of(self._url, self._settings)
        given = {"user.name": self._user, **more}
        return ask(namenodes, method, path, operation, content, **given)

    def _do(self, name: str, call: Callable[[], Result]) -> Result:
        try:
            return patiently(call, passes)
        except EvenkeyError:
            raise
        except RemoteError as error:
            where = self.path(name)
            if error.kind == _ABSENT:
                raise FileNotFoundError(errno.ENOENT, "there is no such file", where) from None
            kind = _HoldsError if error.kind == _HOLDS else OSError
            message = (
                f"{where}: HDFS refuses the request ({error}): check the permissions of the user "
                "and the state of the namenode"
            )
            raise kind(message) from None
        except Exception as error:
            if not is_of_requests(error):
                raise
            # The text of the error has the address of the request, with the delegation token.
            failed = "cannot be asked"
            if passes(error):
                failed = f"did not answer for {PATIENCE:.0f} seconds"
            message = (
                f"{self.path(name)}: the namenode {failed}: {type(error).__name__} at "
                f"{', '.join(namenodes_of(self._url, self._settings))}; set "
                "EVENKEY_WEBHDFS=http://namenode:port on all hosts if it is elsewhere"
            )
            raise OSError(message) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HdfsStore) and (self._url, self._settings) == (
            other._url,
            other._settings,
        )

    def __hash__(self) -> int:
        return hash(self._url)

    def __repr__(self) -> str:
        return f"HdfsStore({self._url!r})"


class _HoldsError(OSError):
    """A directory is not empty."""
