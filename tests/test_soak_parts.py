"""The parts of the soak tests: together they are all tests."""

from __future__ import annotations

import pytest

from tools import components, soak

REPORT = """\
<testsuites><testsuite>
  <testcase name="a" />
  <testcase name="b"><failure message="x" /></testcase>
  <testcase name="c"><error message="y" /></testcase>
  <testcase name="d"><skipped message="weed is not installed" /></testcase>
  <testcase name="e"><skipped message="weed is not installed" /></testcase>
</testsuite></testsuites>
"""


def test_each_folder_belongs_to_one_part():
    named = [folder for folders in soak.PARTS.values() for folder in folders]
    assert len(set(named)) == len(named)
    assert all((soak.ROOT / folder).is_dir() for folder in named)
    left_out = {each.removeprefix("--ignore=") for each in soak.arguments(soak.OTHERS)[1:]}
    assert left_out == set(named)


def test_the_summary_has_all_counts(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    stores = soak.read(report, 1, 90.0)
    assert stores.counts == {"passed": 1, "failed": 2, "skipped": 2}
    broken = soak.Outcome(3, 6.0)
    lines = soak.summary({"stores": stores, "kafka": broken}).splitlines()
    assert lines[1].split() == ["stores", "1", "2", "2", "1.5"]
    assert lines[3:] == ["kafka: pytest ended with exit code 3"]


@pytest.mark.parametrize("tool", [soak, components])
def test_a_name_that_is_not_known_is_refused(tool, capsys):
    assert tool.main(["storse"]) == 2
    assert "'storse'; there are: " in capsys.readouterr().err


def test_a_component_that_cannot_be_installed_is_named_with_the_reason(monkeypatch, capsys):
    def fail():
        components._run("sh", "-c", "echo no route to the registry >&2; exit 7")

    def lie():
        pass

    for name, action in {"failing": fail, "lying": lie}.items():
        component = components.Component(f"no-program-{name}", action)
        monkeypatch.setitem(components.COMPONENTS, name, component)
    assert components.main(["failing", "lying"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "failing could not be installed: sh: no route to the registry",
        "lying could not be installed: it is installed, but no no-program-lying is found",
    ]


def test_what_is_there_is_not_installed_again(monkeypatch):
    def fail():
        message = "it is there already"
        raise AssertionError(message)

    monkeypatch.setitem(components.COMPONENTS, "sh", components.Component("sh", fail))
    assert components.main(["sh"]) == 0


def test_what_a_component_needs_is_installed_before_it(monkeypatch):
    done = []

    def packages(names):
        done.append(names)
        monkeypatch.setitem(known, "builder", components.Component("sh", components._from_debian))

    def build():
        done.append("built")
        monkeypatch.setitem(known, "jars", components.Component("sh", build))

    known = components.COMPONENTS
    missing = components.Component("no-program", components._from_debian)
    monkeypatch.setitem(known, "builder", missing)
    jars = components.Component("no-program", build, needs=("builder",))
    monkeypatch.setitem(known, "jars", jars)
    monkeypatch.setattr(components, "_apt_get", packages)
    assert components.install(["jars"]) == {}
    assert done == [["builder"], "built"]


def test_jars_come_by_maven():
    assert {name for name, each in components.COMPONENTS.items() if "maven" in each.needs} == {
        "kafka",
        "hadoop",
    }
