"""Code that is run in an environment with only the wheel and one extra."""

from __future__ import annotations

__all__ = ["CORE", "TRIALS"]

CORE = """
import sys
import numpy as np
import evenkey, evenkey.checks, evenkey.groupings, evenkey.joins, evenkey.kafka, evenkey.spark
assert str(evenkey.Sum("amount")) == "sum(column=amount)"
assert evenkey.__file__.startswith(sys.prefix), evenkey.__file__
assert all(hasattr(evenkey.spark, name) for name in evenkey.spark.__all__)
plan = evenkey.groupings.PlannedGrouping().plan(np.arange(9, dtype=np.uint64), np.ones(9), 3)
assert plan["loads"].tolist() == [3, 3, 3], plan
"""
"""Code that is run with every extra, and without any."""

_STORE = """
from evenkey.core.stores import store_at
store_at({place!r})
import {module}
"""

_EXPORT = """
from evenkey.pipeline.exporters import check_address
check_address({address!r})
import {module}
"""

_SPARK = """
from evenkey import spark as eks
spark = eks.session("local[2]")
assert eks.route(spark.range(9), "id", "kg", workers=2).count() == 9
spark.stop()
"""

_PROGRAM = """
import subprocess, sys, pathlib
program = pathlib.Path(sys.prefix, "bin", "evenkey")
subprocess.run([program, *{arguments!r}], check=True, stdout=subprocess.DEVNULL)
"""

TRIALS = {
    "": """
import subprocess, sys, pathlib
program = pathlib.Path(sys.prefix, "bin", "evenkey")
done = subprocess.run([program, "--help"], capture_output=True, text=True)
assert done.returncode == 2, done
assert done.stderr.rstrip().endswith("pip install 'evenkey[cli]'"), done.stderr
stream = evenkey.generated("zipf(z=1.2,keys=100)", messages=1000)
try:
    evenkey.simulate(stream, "pkg", workers=4)
except evenkey.ConfigurationError as error:
    assert str(error).endswith("pip install 'evenkey[kernels]'"), error
else:
    raise AssertionError("numba is installed without an extra")
""",
    "abfs": _STORE.format(place="abfss://box@a.dfs.core.windows.net/n", module="azure.identity"),
    "cli": _PROGRAM.format(
        arguments=("simulate", "--dataset", "country-skew-r80", "--messages", "10000", "--json")
    ),
    "connect": "from pyspark.sql.connect.session import SparkSession",
    "dashboard": "from evenkey.reports.dashboard import Server\nServer([], port=0)",
    "gcs": _STORE.format(place="gs://bucket/n", module="google.cloud.storage"),
    "geo": "from evenkey.joins import SpatialMatch\nSpatialMatch(relation='within')",
    "hdfs": _STORE.format(place="hdfs://namenode:8020/n", module="requests"),
    "influxdb": _EXPORT.format(address="influxdb://127.0.0.1:8086/evenkey", module="influxdb"),
    "java": _SPARK,
    "kafka": "from evenkey.kafka import Address\nAddress.parse('h:9092/t')\nimport confluent_kafka",
    "kernels": """
stream = evenkey.generated("zipf(z=1.2,keys=100)", messages=1000)
assert evenkey.simulate(stream, "pkg", workers=4).metrics.messages == 1000
""",
    "pages": "from evenkey.reports.pictures import check_packages\ncheck_packages()",
    "papers": _PROGRAM.format(arguments=("experiment", "list")),
    "prometheus": _EXPORT.format(address="prometheus://127.0.0.1", module="prometheus_client"),
    "s3": _STORE.format(place="s3a://bucket/n", module="boto3"),
    "shapefiles": "import shapefile, shapely",
}
"""Code by extra; "" is the package without extras. `java` runs where no other Java can be found."""
