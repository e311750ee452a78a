"""Real passwords of Kafka, S3 and InfluxDB grant access, and appear nowhere else."""

from __future__ import annotations

import contextlib
import secrets
import sys
import threading
from pathlib import Path

import pytest

from tests.brokers import PASSWORD, fill
from tests.faults.outside import EVENKEY, begin, command, environment
from tests.processes import end_session
from tests.servers import InfluxServer, SeaweedServer, eventually, fetch, free_port, s3_settings
from tools.kafka_broker import USER

pytestmark = [pytest.mark.soak, pytest.mark.faults, pytest.mark.timeout(1200)]

KEYS = [b"hot", b"hot", b"hot", b"cold 1", b"hot", b"cold 2"]

ON_S3 = """
import sys
from pathlib import Path
from evenkey import spark as operators
from evenkey.core.streams import generated
from tests.servers import s3_settings
from tests.spark import oracle

directory, url = Path(sys.argv[1]), sys.argv[2]
settings = {f"spark.hadoop.{name}": value for name, value in s3_settings(url).items()}
events = {"enabled": "true", "dir": str(directory), "compress": "false", "rolling.enabled": "false"}
settings |= {f"spark.eventLog.{name}": value for name, value in events.items()}
spark = operators.session("local[2]", settings)
rows = oracle.streaming(spark, generated("country-skew-r80", messages=3000), directory)
routed = operators.route(rows, "key", "planned", 4, state="s3a://lab/tables")
routed.explain("formatted")
query = routed.writeStream.format("noop").option("checkpointLocation", str(directory / "at"))
query = query.start()
query.processAllAvailable()
query.explain(True)
print(query.lastProgress)
query.stop()
batch = spark.read.parquet(str(directory / "input"))
plan = operators.fit(batch, "key", "planned", 4, state="s3a://lab/plan")
print("routed", operators.route(batch, "key", "planned", 4, state="s3a://lab/plan").count())
print(spark.sparkContext.getConf().toDebugString().count("s3a"))
try:
    operators.fit(batch, "key", "planned", 4, state="s3a://no-such-bucket/plan")
except Exception as error:
    print("refused", error)
spark.stop()
"""


@contextlib.contextmanager
def processes_watched(*hidden):
    """Watch the command lines of all processes during the block."""
    seen: list[bytes] = []
    done = threading.Event()

    def watch():
        while not done.wait(0.05):
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    line = file.read_bytes()
                    seen.extend(line for each in hidden if each.encode() in line)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        done.set()
        watcher.join()


def files_with(directory, *hidden):
    """Return the names of the files under a directory that contain one of the secrets."""
    files = [file for file in directory.rglob("*") if file.is_file()]
    assert files
    return [
        file.name for file in files if any(each.encode() in file.read_bytes() for each in hidden)
    ]


def test_kafka_and_influxdb(broker, tmp_path):
    import influxdb

    hidden = secrets.token_hex(12)
    (tmp_path / "influxdb").mkdir()
    with InfluxServer(tmp_path / "influxdb", auth=True) as server:
        create = f"CREATE USER me WITH PASSWORD '{hidden}' WITH ALL PRIVILEGES"
        influxdb.InfluxDBClient("127.0.0.1", server.port).query(create, method="POST")
        fill(broker, "hidden", KEYS * 200)
        kept = tmp_path / "kept"
        (kept / "events").mkdir(parents=True)
        settings = tmp_path / "kafka.properties"
        settings.write_text(
            f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username={USER}\n"
        )
        conf = tmp_path / "conf"
        conf.mkdir()
        (conf / "spark-defaults.conf").write_text(
            f"spark.eventLog.enabled true\nspark.eventLog.dir {kept / 'events'}\n"
            "spark.eventLog.compress false\nspark.eventLog.rolling.enabled false\n"
        )
        around = {
            "SPARK_CONF_DIR": str(conf),
            "EVENKEY_KAFKA_CLIENT_SASL_PASSWORD": PASSWORD,
            "EVENKEY_INFLUXDB_PASSWORD": hidden,
            "EVENKEY_SPARK_LOG": "INFO",
        }
        words = [
            *(str(EVENKEY), "run", "--kafka", f"{broker.sasl_server}/hidden"),
            *("--output-kafka", f"{broker.sasl_server}/hidden-out"),
            *("--kafka-config", str(settings), "--output", str(kept / "out")),
            *("--export", server.address.replace("//", "//me@"), "--workers", "2"),
            *("--sources", "2", "--aggregators", "1", "--epochs", "3", "--master", "local[2]"),
        ]
        with processes_watched(PASSWORD, hidden) as shown:
            ended = command(words, environment=environment(**around))
        assert ended.code == 0, ended.err[-4000:]
        (series,) = server.query("SELECT messages FROM evenkey_epoch", u="me", p=hidden)
        assert series["values"]
        assert shown == []
        assert PASSWORD not in ended.out + ended.err
        assert hidden not in ended.out + ended.err
        (log,) = (kept / "events").iterdir()
        page = command([str(EVENKEY), "diagnose", str(log), "--page", str(kept / "page.html")])
        assert PASSWORD not in page.out + page.err
        (kept / "board.html").write_text(dashboard(kept / "out"))
        wrong = {"EVENKEY_KAFKA_CLIENT_SASL_PASSWORD": "wrong-1-" + hidden}
        words[words.index(str(kept / "out"))] = str(kept / "other")
        refused = command(words, environment=environment(**{**around, **wrong}))
        assert refused.code in {1, 2}
        assert hidden not in refused.out + refused.err
        assert files_with(kept, PASSWORD, hidden) == []


def dashboard(output):
    """Read the page of a run, and its data."""
    port = free_port()
    words = [str(EVENKEY), "dashboard", "--run", str(output), "--port", str(port)]
    process = begin(words)
    try:

        def page():
            try:
                return fetch(f"http://127.0.0.1:{port}/")
            except OSError:
                assert process.poll() is None, process.communicate()
                return None

        found = eventually(page)
    finally:
        end_session(process.pid)
        process.communicate()
    return str(found)


def test_s3(tmp_path):
    import boto3

    (tmp_path / "seaweed").mkdir()
    kept = tmp_path / "kept"
    kept.mkdir()
    with SeaweedServer(tmp_path / "seaweed") as server:
        settings = s3_settings(server.url)
        hidden, key = settings["fs.s3a.secret.key"], settings["fs.s3a.access.key"]
        client = boto3.client(
            "s3",
            endpoint_url=server.url,
            region_name="us-east-1",
            aws_access_key_id=key,
            aws_secret_access_key=hidden,
        )

        def made():
            try:
                client.create_bucket(Bucket="lab")
                client.put_object(Bucket="lab", Key="ready", Body=b"")
            except client.exceptions.ClientError:
                return False
            return True

        eventually(made)
        with processes_watched(hidden, key) as shown:
            ended = command(
                [sys.executable, "-c", ON_S3, str(kept), server.url],
                environment=environment(EVENKEY_SPARK_LOG="INFO"),
                at=Path(__file__).parents[2],
            )
        assert ended.code == 0, ended.err[-4000:]
        assert "routed 3000" in ended.out
        assert "refused" in ended.out
        assert shown == []
        assert hidden not in ended.out + ended.err
        assert files_with(kept, hidden, key) == []
        listed = client.list_objects_v2(Bucket="lab")["Contents"]
        bodies = [client.get_object(Bucket="lab", Key=each["Key"])["Body"] for each in listed]
        assert len(bodies) > 3
        assert not any(hidden.encode() in body.read() for body in bodies)
