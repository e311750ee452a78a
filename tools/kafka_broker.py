"""Start and stop one local Kafka broker to experiment with: `make kafka-up`, `make kafka-down`.

It is an ordinary Java process in KRaft mode, broker and controller in one, and listens on loopback
only. `make setup-kafka` downloads its jars. Tests start their own brokers with the same class.
"""

from __future__ import annotations

import base64
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

from evenkey.spark.sessions.java_home import ensure_java

ROOT = Path(__file__).resolve().parent.parent
JARS = ROOT / "build" / "kafka" / "broker"
HOST = "127.0.0.1"
USER = "evenkey"

_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_STARTED = "Kafka Server started"
_LOGGING = """\
rootLogger.level = INFO
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %c{1} %m%n
"""
# Event times of generated streams begin in 2020, so no record may be deleted for its age.
_SERVER = """\
process.roles = broker,controller
node.id = 1
controller.quorum.voters = 1@{host}:{controller}
listeners = {listeners}
advertised.listeners = {advertised}
controller.listener.names = CONTROLLER
listener.security.protocol.map = PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name = PLAINTEXT
log.dirs = {data}
log.retention.ms = -1
num.partitions = 5
offsets.topic.num.partitions = 1
offsets.topic.replication.factor = 1
transaction.state.log.num.partitions = 1
transaction.state.log.replication.factor = 1
transaction.state.log.min.isr = 1
group.initial.rebalance.delay.ms = 0
"""
_SASL = """\
sasl.enabled.mechanisms = PLAIN
listener.name.sasl.plain.sasl.jaas.config = \
org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}";
"""


class BrokerError(Exception):
    """A broker cannot start; the message names the reason and the fix."""


class Broker:
    """A broker, with its data, its log and its process id in one directory.

    Parameters
    ----------
    directory
        Created if it does not exist; data of an earlier broker there is used again.
    port
        Port for clients; the controller uses the next one.
    password
        If given, the broker also listens at `port` + 2, for the user ``evenkey`` with this
        password.
    settings
        Additional lines of ``server.properties``.
    java_options
        Additional options of Java.
    """

    def __init__(
        self,
        directory: Path,
        port: int = 9092,
        password: str | None = None,
        settings: str = "",
        java_options: str = "",
    ) -> None:
        self.directory = directory.absolute()
        self.server = f"{HOST}:{port}"
        self.sasl_server = f"{HOST}:{port + 2}"
        self._port = port
        self._password = password
        self._more = settings
        self._java_options = java_options.split()
        self._process: subprocess.Popen[bytes] | None = None
        self._data = self.directory / "data"
        self._settings = self.directory / "server.properties"
        self._pid_file = self.directory / "broker.pid"
        self.log = self.directory / "broker.log"

    def start(self) -> None:
        """Start the broker and wait until it serves.

        Raises
        ------
        BrokerError
            Its jars are missing, its port is in use, or it exits or hangs during the start.
        """
        if self.pid is not None:
            message = f"a broker already runs in {self.directory}: make kafka-down stops it"
            raise BrokerError(message)
        if not any(JARS.glob("kafka_*.jar")):
            message = f"the broker's jars are not in {JARS}: run make setup-kafka"
            raise BrokerError(message)
        with socket.socket() as probe:
            if probe.connect_ex((HOST, self._port)) == 0:
                message = f"{self.server} is in use: stop its process, or choose another port"
                raise BrokerError(message)
        self._format()
        with self.log.open("w") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own jars
                [*self._java(), "kafka.Kafka", str(self._settings)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._pid_file.write_text(f"{self._process.pid}\n")
        deadline = time.monotonic() + _START_SECONDS
        while _STARTED not in self.log.read_text():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                message = f"the broker did not start: read {self.log}"
                raise BrokerError(message)
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop the broker, by a kill if it does not end in time; its data are kept."""
        pid = self.pid
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + _STOP_SECONDS
            while self.pid is not None:
                if time.monotonic() > deadline:
                    os.kill(pid, signal.SIGKILL)
                time.sleep(0.1)
        if self._process is not None:
            self._process.wait()
        self._pid_file.unlink(missing_ok=True)

    @property
    def pid(self) -> int | None:
        """Id of the broker's process. None: it does not run."""
        try:
            pid = int(self._pid_file.read_text())
        except (FileNotFoundError, ValueError):
            return None
        # A child that has ended stays in the list of processes until it is waited for.
        if self._process is not None:
            self._process.poll()
        # The system may have reused the id for another process.
        command = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
        listed = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        return pid if str(self._settings) in listed.stdout else None

    def _format(self) -> None:
        """Write the settings, and format the storage if that has not been done."""
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "log4j2.properties").write_text(_LOGGING)
        listeners = {"PLAINTEXT": self._port}
        if self._password is not None:
            listeners["SASL"] = self._port + 2
        advertised = ",".join(f"{name}://{HOST}:{port}" for name, port in listeners.items())
        text = _SERVER.format(
            host=HOST,
            controller=self._port + 1,
            listeners=f"{advertised},CONTROLLER://{HOST}:{self._port + 1}",
            advertised=advertised,
            data=self._data,
        )
        if self._password is not None:
            text += _SASL.format(user=USER, password=self._password)
        self._settings.write_text(text + self._more)
        if (self._data / "meta.properties").exists():
            return
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # With "=", because an id may begin with a dash and would look like an option.
        what = ["format", f"--cluster-id={cluster}", f"--config={self._settings}"]
        formatted = subprocess.run(  # noqa: S603 - our own jars
            [*self._java(), "kafka.tools.StorageTool", *what],
            capture_output=True,
            text=True,
            check=False,
        )
        if formatted.returncode:
            message = f"the broker's storage cannot be formatted: {formatted.stderr.strip()}"
            raise BrokerError(message)

    def _java(self) -> list[str]:
        launcher = ensure_java() / "bin" / "java"
        logging = f"-Dlog4j2.configurationFile={self.directory / 'log4j2.properties'}"
        return [str(launcher), "-Xmx512m", *self._java_options, logging, "-cp", f"{JARS}/*"]


def main() -> None:
    """Start or stop the broker, as the first argument says: up or down."""
    port = int(os.environ.get("EVENKEY_KAFKA_PORT", "9092"))
    broker = Broker(ROOT / "build" / "kafka" / "run", port)
    if sys.argv[1:] == ["up"]:
        try:
            broker.start()
        except BrokerError as error:
            sys.exit(f"error: {error}")
        print(f"Kafka serves at {broker.server}; make kafka-down stops it")  # noqa: T201
    elif sys.argv[1:] == ["down"]:
        broker.stop()
    else:
        sys.exit("usage: kafka_broker.py up|down")


if __name__ == "__main__":
    main()
