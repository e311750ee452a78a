"""A Spark standalone cluster on separate hosts, with S3 and HDFS on another host."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evenkey.spark.sessions.java_home import ensure_java
from tests.cluster.hosts import WORK, Hosts
from tests.components import skip_without
from tests.java_options import JAVA_OPTIONS
from tests.servers import ROOT, S3A_JARS, hdfs_arguments, s3_settings
from tools.spark_home import use_home_without_zips

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Collection, Mapping
    from typing import Self

__all__ = ["BUCKET", "EVENKEY", "PLACES", "SparkCluster", "through"]

Result = TypeVar("Result")

BUCKET = "lab"
EVENKEY = str(Path(sys.executable).parent / "evenkey")
PLACES = {"s3": f"s3a://{BUCKET}", "hdfs": "hdfs://store:8020"}
"""Storage for state that all hosts reach."""

_WORKERS = ("worker1", "worker2")
_NAMES = ("driver", "driver2", "master", *_WORKERS, "store")
_S3_PORT, _RPC_PORT, _HTTP_PORT, _MASTER_PORT = 9000, 8020, 9870, 7077
_MASTER = f"spark://master:{_MASTER_PORT}"
_RESULT = "RESULT "
_DELAY = f"{WORK}/delay"
_SETTINGS = f"{WORK}/spark.properties"


class SparkCluster:
    """A master and two workers with two slots each, two hosts for drivers, and one for storage.

    Parameters
    ----------
    directory
        Directory for logs.
    storage
        Kinds of storage that all hosts reach, some of `PLACES`.
    hidden
        Directory of the machine that workers do not see.
    """

    def __init__(
        self,
        directory: Path,
        *,
        storage: Collection[str] = tuple(PLACES),
        hidden: Path | None = None,
    ) -> None:
        if storage and not any(S3A_JARS.glob("*.jar")):
            skip_without("cluster", f"there are no jars in {S3A_JARS}: run make setup-hadoop")
        self.directory = directory
        self.hosts = Hosts(directory, _NAMES, dict.fromkeys(_WORKERS, hidden) if hidden else None)
        self._storage = storage
        self._running: list[subprocess.Popen[bytes]] = []
        use_home_without_zips()
        self._home = Path(os.environ["SPARK_HOME"])

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as undo:
            undo.enter_context(self.hosts)
            undo.callback(self._reap)
            self._start_storage()
            self._serve("master", "Master", ["--port", str(_MASTER_PORT)])
            self.hosts.wait_for("master", _MASTER_PORT)
            for name in _WORKERS:
                self.start_worker(name)
            self._wait_for_workers(len(_WORKERS))
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._undo.close()

    def _reap(self) -> None:
        """Reap the programs that have ended with their hosts."""
        for name in list(self.hosts.names):
            with contextlib.suppress(KeyError):
                self.hosts.lose(name)
        for each in self._running:
            each.wait()

    def _start_storage(self) -> None:
        """Start the kinds of storage, all of them empty."""
        with_s3, with_hdfs = (kind in self._storage for kind in PLACES)
        if with_s3:
            python = [sys.executable, "-m", "tests.s3_server", "store", str(_S3_PORT), _DELAY]
            self.start("store", python, "s3")
        if with_hdfs:
            java = str(ensure_java() / "bin" / "java")
            where = ["store", str(_RPC_PORT), str(_HTTP_PORT), f"{WORK}/hdfs"]
            self.start("store", [java, *hdfs_arguments(), *where], "hdfs")
        if with_s3:
            self.hosts.wait_for("store", _S3_PORT)
            url = f"http://store:{_S3_PORT}/{BUCKET}"
            done = self.hosts.run("store", ["curl", "-sf", "-X", "PUT", url], {}, 30)
            assert done.returncode == 0, done.stderr
        log = self.directory / "store-hdfs.log"
        deadline = time.monotonic() + 240
        while with_hdfs and "HDFS serves" not in log.read_text():
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)

    def start_worker(self, name: str) -> None:
        """Start a Spark worker on a host."""
        slots = ["--cores", "2", "--memory", "2g"]
        self._serve(name, "Worker", [*slots, _MASTER])

    def _serve(self, name: str, kind: str, words: list[str]) -> None:
        program = [
            str(self._home / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{kind.lower()}.{kind}",
        ]
        self.start(name, [*program, "--host", name, *words], kind.lower())

    def _wait_for_workers(self, count: int) -> None:
        log = self.directory / "master-master.log"
        deadline = time.monotonic() + 240
        while log.read_text().count("Registering worker") < count:
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)

    def start(self, name: str, words: list[str], log: str) -> subprocess.Popen[bytes]:
        """Start a program on a host, with its own log."""
        with (self.directory / f"{name}-{log}.log").open("ab") as output:
            started = self.hosts.start(name, words, self.environment(name), output)
        self._running.append(started)
        return started

    def environment(self, name: str) -> dict[str, str]:
        """Return the environment variables of programs on a host."""
        return {
            "JAVA_HOME": str(ensure_java()),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": f"--properties-file {_SETTINGS} pyspark-shell",
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS,
            "SPARK_DAEMON_MEMORY": "512m",
            # Behind Spark's own jars: Java uses the archive of their classes only then.
            "SPARK_DIST_CLASSPATH": f"{S3A_JARS}/*",
            "SPARK_HOME": str(self._home),
            "SPARK_LOCAL_HOSTNAME": name,
            "SPARK_MASTER": _MASTER,
            "SPARK_SUBMIT_OPTS": os.environ.get("SPARK_SUBMIT_OPTS", JAVA_OPTIONS),
            "SPARK_WORKER_DIR": f"{WORK}/apps",
            # No test sends credentials through environment variables.
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def settings(self, name: str) -> dict[str, str]:
        """Return the settings of a session whose driver is on a host."""
        hadoop = {
            **s3_settings(f"http://store:{_S3_PORT}"),
            "fs.s3a.bucket.probe": "0",
            "fs.s3a.change.detection.mode": "none",
            "fs.s3a.input.stream.type": "classic",
            "dfs.namenode.http-address": f"store:{_HTTP_PORT}",
        }
        return {
            "spark.driver.host": name,
            "spark.executor.extraJavaOptions": JAVA_OPTIONS,
            "spark.executor.memory": "1g",
            "spark.sql.shuffle.partitions": "4",
            **{f"spark.hadoop.{key}": value for key, value in hadoop.items() if self._storage},
        }

    def run(
        self, words: list[str], on: str = "driver", seconds: int = 600, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program on a driver's host, with the settings of `settings`."""
        lines = "".join(f"{key} {value}\n" for key, value in self.settings(on).items())
        write = ["bash", "-c", f'printf %s "$0" >{_SETTINGS}', lines]
        assert self.hosts.run(on, write, {}, 10).returncode == 0
        return self.hosts.run(on, words, {**self.environment(on), **environment}, seconds)

    def drive(
        self,
        case: str,
        on: str = "driver",
        seconds: int = 600,
        master: str = _MASTER,
        **given: Any,
    ) -> Any:
        """Run a function of `cases` in a session on a driver's host, and return its result."""
        program = [sys.executable, "-m", "tests.cluster.drive", case, json.dumps(given)]
        done = self.run(program, on, seconds, SPARK_MASTER=master)
        results = [line for line in done.stdout.splitlines() if line.startswith(_RESULT)]
        said = done.stderr[:3000], done.stderr[3000:][-3000:]
        assert results, (done.returncode, done.stdout[-2000:], *said)
        return json.loads(results[-1].removeprefix(_RESULT))

    def drive_all(
        self, calls: Mapping[str, tuple[str, dict[str, Any]]], on: str = "driver"
    ) -> dict[str, Any]:
        """Run functions of `cases` in one session, each with arguments; return their results."""
        ended = self.drive("outcomes", on, seconds=1600, calls=[*calls.values()])
        found = dict(zip(calls, ended, strict=True))
        failed = {name: each["error"] for name, each in found.items() if "error" in each}
        assert not failed, failed
        return {name: each["result"] for name, each in found.items()}

    def evenkey(
        self, words: list[str], on: str = "driver", seconds: int = 600
    ) -> subprocess.CompletedProcess[str]:
        """Run an ``evenkey`` command on a driver's host."""
        return self.run([EVENKEY, *words], on, seconds)

    def slow_storage(self, seconds: float) -> None:
        """Delay each request to S3 by some seconds; 0: no delay."""
        write = ["bash", "-c", f"echo {seconds} >{_DELAY}"]
        assert self.hosts.run("store", write, {}, 10).returncode == 0

    def objects(self, prefix: str) -> int:
        """Count the objects below a prefix of S3, up to 1,000."""
        url = f"http://store:{_S3_PORT}/{BUCKET}?list-type=2&prefix={prefix}"
        return self.hosts.run("store", ["curl", "-sf", url], {}, 30).stdout.count("<Key>")


def through(fault: Callable[[], None], work: Callable[[], Result]) -> Result:
    """Run `work` in another thread while this thread causes the fault; wait for both.

    This thread causes the fault because a host ends with the thread that started it.
    """
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(work)
        fault()
        return result.result()
