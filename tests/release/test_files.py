"""Files of a release agree with pyproject.toml and with each other."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml

from tools.release.trials import CORE, TRIALS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPE = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_every_file_has_the_same_version():
    from evenkey import __version__

    assert __version__ == PROJECT["version"]
    assert RECIPE["context"] == {"name": PROJECT["name"], "version": PROJECT["version"]}
    assert CITATION["version"] == PROJECT["version"]


def test_the_recipe_has_the_requirements_of_the_package():
    spaced = (each.replace(">", " >", 1) for each in PROJECT["dependencies"])
    assert RECIPE["requirements"]["run"] == [f"python {PROJECT['requires-python']}", *spaced]
    assert CITATION["license"] == RECIPE["about"]["license"] == PROJECT["license"]
    (entry,) = RECIPE["build"]["python"]["entry_points"]
    assert entry == "evenkey = " + PROJECT["scripts"]["evenkey"]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_runs_targets_that_there_are(file):
    targets = (ROOT / "Makefile").read_text().partition(".PHONY: ")[2].partition("\n\n")[0].split()
    jobs = yaml.safe_load(file.read_text())["jobs"]
    lines = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    made = [line.split()[1] for line in lines if line.startswith("make ")]
    assert set(made) <= set(targets)
    assert made or ".ci/run" in lines


@pytest.mark.parametrize("extra", sorted(TRIALS))
def test_each_extra_is_tried_with_a_program(extra):
    assert extra in ("", *PROJECT["optional-dependencies"])
    compile(CORE + TRIALS[extra], extra, "exec")
