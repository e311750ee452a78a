"""compose.yaml is checked without docker: names, images, ports, files."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.components import skip_without

ROOT = Path(__file__).parent.parent
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
KNOWN = {"build", "depends_on", "environment", "image", "ports", "profiles", "volumes"}
PINNED = re.compile(r"[a-z/]+:v?\d+\.\d+\.\d+(-[a-z0-9-]+)?")


def test_it_has_the_parts_of_the_topology():
    assert {"kafka", "influxdb", "prometheus", "grafana", "evenkey"} <= SERVICES.keys()
    assert COMPOSE.keys() == {"name", "services", "volumes"}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_pinned_and_open_to_this_machine_only(name):
    service = SERVICES[name]
    assert service.keys() <= KNOWN
    assert PINNED.fullmatch(service["image"])
    for port in service.get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)
    for needed in service.get("depends_on", []):
        assert needed in SERVICES
    for mount in service.get("volumes", []):
        origin = mount.split(":")[0]
        assert origin in COMPOSE["volumes"] or (ROOT / origin).exists()


def test_grafana_has_all_settings_that_its_data_sources_use():
    sources = (ROOT / "grafana/provisioning/datasources/evenkey.yaml").read_text()
    settings = SERVICES["grafana"]["environment"]
    assert settings.keys() == set(re.findall(r": \$(EVENKEY_\w+)", sources))
    for name in ("influxdb", "prometheus"):
        port = SERVICES[name]["ports"][0].rpartition(":")[2]
        assert settings[f"EVENKEY_{name.upper()}_URL"] == f"http://{name}:{port}"
    mounts = dict(mount.split(":")[:2] for mount in SERVICES["grafana"]["volumes"])
    (provider,) = yaml.safe_load(
        (ROOT / "grafana/provisioning/dashboards/evenkey.yaml").read_text()
    )["providers"]
    assert provider["options"]["path"] == mounts["./grafana/dashboards"]


def test_prometheus_scrapes_the_run_and_nothing_else():
    (mount,) = [each for each in SERVICES["prometheus"]["volumes"] if each.startswith("./")]
    settings = ROOT / mount.split(":")[0]
    (job,) = yaml.safe_load(settings.read_text())["scrape_configs"]
    (target,) = job["static_configs"][0]["targets"]
    assert target.split(":")[0] in SERVICES
    if (promtool := shutil.which("promtool")) is None:
        skip_without("prometheus", "promtool is not installed (apt-get: prometheus)")
    checked = subprocess.run(
        [promtool, "check", "config", settings], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


def test_every_volume_is_used():
    mounts = [mount for service in SERVICES.values() for mount in service.get("volumes", [])]
    assert {mount.split(":")[0] for mount in mounts} >= set(COMPOSE["volumes"])


def test_the_image_is_built_of_pinned_images_and_files_that_are_there():
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    images = [line.split()[1] for line in lines if line.startswith("FROM")]
    assert images
    assert all(PINNED.fullmatch(image) for image in images)
    copied = [line.split()[1:-1] for line in lines if re.match("COPY (?!--from)", line)]
    assert all((ROOT / file).exists() for files in copied for file in files)


def test_the_image_runs_the_script_that_is_checked_without_docker():
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    runs = [line.split() for line in lines if line.startswith("RUN") and "mvn" not in line]
    assert runs == [["RUN", "sh", "/opt/evenkey/source/install.sh", "/opt/evenkey/source"]]
    assert any("tools/image/install.sh" in line for line in lines if line.startswith("COPY"))


def test_kafka_is_of_the_version_of_the_broker_that_tests_run():
    pom = (ROOT / "connectors" / "pom.xml").read_text()
    version = re.search("<kafka.version>(.+)</kafka.version>", pom)
    assert version is not None
    assert SERVICES["kafka"]["image"].endswith(f":{version[1]}")
