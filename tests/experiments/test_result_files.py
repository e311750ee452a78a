"""Results are stored on disk and read again."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow.parquet as pq
import pytest

from evenkey.core.errors import RunError
from evenkey.papers.experiments import Measurement
from evenkey.papers.experiments.experiment_data import Dataset
from evenkey.papers.experiments.result_files import Store
from evenkey.papers.experiments.result_frames import series
from tests.experiments.conftest import Squares

SCENARIO = Squares(Dataset("uniform(keys=2)", 10, seed=4), 3)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "results")


def test_written_results_are_read(store):
    assert SCENARIO not in store
    store.write(SCENARIO, SCENARIO.measure())
    assert SCENARIO in store
    row = store.read(SCENARIO)
    assert (row["dataset"], row["seed"], row["number"]) == ("uniform(keys=2)", 4, 3)
    assert (row["square"], row["third"]) == (13, 1 / 3)
    assert row["series"] == [{"step": 0}, {"step": 1}, {"step": 2}]


def test_a_file_describes_its_content_to_any_reader(store):
    store.write(SCENARIO, SCENARIO.measure())
    table = pq.read_table(store.path(SCENARIO))
    assert json.loads(table.schema.metadata[b"evenkey.parameters"]) == SCENARIO.parameters
    assert table.num_rows == 1
    assert {"dataset", "seed", "number", "square"} <= set(table.column_names)


def test_the_same_result_gives_the_same_bytes(store):
    store.write(SCENARIO, SCENARIO.measure())
    first = store.path(SCENARIO).read_bytes()
    store.path(SCENARIO).unlink()
    store.write(SCENARIO, SCENARIO.measure())
    assert store.path(SCENARIO).read_bytes() == first
    assert [file.name for file in store.directory.iterdir()] == [f"{SCENARIO.id}.parquet"]


@pytest.mark.parametrize("content", [b"", b"no Parquet at all"])
def test_a_broken_file_is_named(store, content):
    store.directory.mkdir()
    store.path(SCENARIO).write_bytes(content)
    with pytest.raises(RunError, match=f"{SCENARIO.id}.parquet cannot be read: delete it"):
        store.read(SCENARIO)


def test_a_result_from_before_a_parameter_was_there_is_read(store):
    store.write(SCENARIO, SCENARIO.measure())
    later = Powers(SCENARIO.dataset, SCENARIO.number)
    row = store.read(later)
    assert (row["square"], row["exponent"]) == (13, 2)
    assert Powers(SCENARIO.dataset, SCENARIO.number, exponent=3) not in store


@dataclass(frozen=True)
class Powers(Squares):
    exponent: int = 2


def test_a_result_of_other_parameters_is_refused(store):
    other = Squares(SCENARIO.dataset, 4)
    store.write(other, other.measure())
    store.path(other).rename(store.path(SCENARIO))
    with pytest.raises(RunError, match="is of other parameters"):
        store.read(SCENARIO)


def test_series_are_taken_out_of_a_frame(store):
    scenarios = [SCENARIO, Squares(SCENARIO.dataset, 1)]
    for scenario in scenarios:
        store.write(scenario, scenario.measure())
    points = series(store.frame_and_digest(scenarios)[0])
    assert points[["number", "step"]].to_numpy().tolist() == [[3, 0], [3, 1], [3, 2], [1, 0]]


def test_a_result_without_series_has_none(store):
    store.write(SCENARIO, Measurement({"square": 9}))
    assert "series" not in store.read(SCENARIO)
