"""A run whose hosts do not share the output reports it in the first epoch and commits nothing."""

from __future__ import annotations

import pytest

from evenkey import PipelineConfig, run
from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import LocalStore
from evenkey.pipeline.runs import read_results
from evenkey.pipeline.runs.output.commits import Commits
from evenkey.pipeline.runs.output.directory import RunDirectory
from evenkey.pipeline.runs.output.output_location import output_store
from tests.tiers import most_in_soak

pytestmark = pytest.mark.usefixtures("spark")

SMALL = {"workers": 2, "sources": 2, "aggregators": 2, "messages": 600, "epochs": 3}


class OwnDisk(LocalStore):
    """A directory that differs on the hosts where tasks run."""

    def __init__(self, directory, elsewhere):
        super().__init__(directory)
        self._elsewhere = elsewhere

    def under(self, name):
        return OwnDisk(self.directory / name, self._elsewhere / name)

    def __reduce__(self):
        return LocalStore, (self._elsewhere,)


@pytest.fixture
def hosts(tmp_path, monkeypatch):
    """Make an output that is a different disk on the driver and on the executors."""
    disks = tmp_path / "driver", tmp_path / "executors"

    def store(place, spark=None):
        del place, spark
        return OwnDisk(*disks)

    monkeypatch.setattr("evenkey.pipeline.runs.driving.outputs.output_store", store)
    return disks


@pytest.mark.slow(5)
@pytest.mark.parametrize("grouping", most_in_soak(["kg", "pkg", "planned"], 5, slow=["planned"]))
def test_a_location_that_executors_do_not_see_is_named(hosts, grouping):
    driver, executors = hosts
    config = PipelineConfig(dataset="country-skew-r80", grouping=grouping, output=driver, **SMALL)
    # The first task that needs the output reports it: a reader of routing tables, or a writer.
    wanted = (
        r"host \S+ does not see what host \S+ wrote at .*executors/state/(?:claims|tables)/.*: "
        r"(?:an output|state) must be a place that the driver and all executors share"
    )
    with pytest.raises(RunError, match=wanted):
        run(config)
    assert Commits(driver).epochs() == []
    assert not (executors / "results").exists()


@pytest.mark.slow(5)
@pytest.mark.parametrize("split", most_in_soak([None, "words"], 5, slow=["words"]))
def test_executors_files_that_the_driver_does_not_see_are_missed(hosts, tmp_path, split):
    driver, executors = hosts
    # Executors see the files of the driver, but the driver does not see theirs.
    (executors / "state").mkdir(parents=True)
    for name in ("claims", "tables"):
        (driver / "state" / name).mkdir(parents=True)
        (executors / "state" / name).symlink_to(driver / "state" / name)
    (tmp_path / "text").write_text("one two\n" * 300)
    given = {"dataset": "country-skew-r80"} if split is None else {"input": tmp_path / "text"}
    config = PipelineConfig(**given, split=split, output=driver, **SMALL)
    wanted = (
        r"epoch=00000000 of .*driver: .* different numbers of messages "
        r"\(its source offered \d+, .* held 0\)"
    )
    with pytest.raises(RunError, match=wanted):
        run(config)
    assert Commits(driver).epochs() == []


@pytest.mark.slow(6)
def test_a_file_uri_is_its_path(tmp_path):
    place = tmp_path / "an output"
    uri = f"file://{tmp_path}/an%20output"
    config = PipelineConfig(dataset="country-skew-r80", output=uri, **SMALL)
    assert config.output == place
    report = run(config)
    assert report.results == place / "results"
    assert read_results(uri).equals(read_results(place))
    assert sum(read_results(uri)["count"].to_pylist()) == 600
    assert RunDirectory(output_store(uri)).finished() is not None


def test_an_unknown_scheme_is_rejected_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = PipelineConfig(dataset="country-skew-r80", output="ftp://host/out", **SMALL)
    with pytest.raises(ConfigurationError, match="no store is known for ftp://"):
        run(config)
    with pytest.raises(ConfigurationError, match="no store is known for ftp://"):
        read_results("ftp://host/out")
    assert not list(tmp_path.iterdir())


def test_a_uri_with_a_password_is_rejected_without_repeating_it():
    with pytest.raises(ConfigurationError, match="must not contain a password") as caught:
        PipelineConfig(dataset="country-skew-r80", output="s3a://me:hunter2@bucket/out")
    assert "hunter2" not in str(caught.value)


def test_a_uri_in_a_path_is_rejected():
    from pathlib import Path

    with pytest.raises(ConfigurationError, match="a path cannot hold a URI; pass it as text"):
        PipelineConfig(dataset="country-skew-r80", output=Path("s3a://bucket/out"))
