"""The pages of experiments are self-contained, complete and reproducible."""

from __future__ import annotations

import dataclasses
import json
import re

from evenkey.papers.experiments import QUICK, run, write_index, write_page


def test_a_page_has_all_in_it(small, tmp_path):
    outcome = run(small, QUICK, tmp_path)
    page = write_page(outcome, tmp_path)
    text = page.read_text()
    assert page.name == "small-table-1-quick.html"
    assert "Squares &lt;of numbers&gt;" in text
    assert "Squares &amp; their numbers." in text
    assert re.search(r"<td class=\"number\">3</td>\s*<td class=\"number\">9</td>", text)
    assert "Drawn only." in text
    assert "nowhere.txt.gz is not in" in text
    assert "evenkey experiment run small-table-1 --scale quick" in text
    assert "Square, units" in text
    assert not re.search(
        r"<(script|link|img)[^>]+(src|href)=", text
    )  # loads nothing from other servers
    assert '<svg viewBox="0 0 960 ' in text


def test_the_figures_are_written_beside_the_page(small, tmp_path):
    write_page(run(small, QUICK, tmp_path), tmp_path)
    written = json.loads((tmp_path / "small-table-1-quick.json").read_text())
    assert written["tables"][0]["rows"][0] == {"number": 3, "square": 9}
    assert written["findings"] == [
        {
            "claim": "squares-grow",
            "at": "section 1",
            "paper": "squares grow",
            "criterion": "squares: rises from Number = 1 to 2 to 3, much more at each step",
            "ours": "2.25x to 9x in 3 settings",
            "verdict": "holds",
        }
    ]
    assert written["command"] == "evenkey experiment run small-table-1 --scale quick"


def test_a_page_is_the_same_each_time(small, tmp_path):
    first, second = (
        write_page(run(small, QUICK, tmp_path), tmp_path).read_bytes() for _ in range(2)
    )
    assert first == second


def test_the_digest_is_that_of_the_results_on_any_machine(small, tmp_path):
    first, again, other = (
        run(small, QUICK, tmp_path / name, seed=seed)
        for name, seed in (("first", 0), ("again", 0), ("other", 1))
    )
    assert first.digest == again.digest != other.digest
    assert first.digest in write_page(first, tmp_path).read_text()
    assert first.to_json()["digest"] == first.digest


def test_the_command_names_repeats_that_are_not_the_usual_ones(small, tmp_path):
    outcome = run(small, dataclasses.replace(QUICK, repeats=3), tmp_path)
    outcome.frame["machine"] = "here"
    outcome.frame["repeats"] = 3
    assert outcome.command.endswith("small-table-1 --scale quick --repeats 3")
    text = write_page(outcome, tmp_path).read_text()
    assert "measured, on here, each\nas the median of 3 runs." in text


def test_medians_have_the_range_of_their_runs(small, tmp_path):
    outcome = run(small, QUICK, tmp_path)
    (table,) = outcome.to_json()["tables"]
    shown = outcome.tables[0].columns[-1]
    place = table["columns"].index(shown.title)
    repeated = dataclasses.replace(outcome, frame=outcome.frame.copy())
    repeated.frame[[f"{shown.name}_least", f"{shown.name}_most"]] = [[1.0, 20.0]] * 3
    (ranged,) = repeated.to_json()["tables"]
    ends = f" ({shown.written(1.0)} to {shown.written(20.0)})"
    assert [row[place] for row in ranged["cells"]] == [row[place] + ends for row in table["cells"]]
    assert ranged["rows"] == table["rows"]


def test_the_index_leads_to_all_pages(small, tmp_path):
    write_page(run(small, QUICK, tmp_path), tmp_path)
    text = write_index(tmp_path).read_text()
    assert 'href="small-table-1-quick.html"' in text
    assert "1 of 1" in text


def test_the_index_tells_pages_of_streams_from_kafka_and_reads_those_of_before(small, tmp_path):
    outcome = run(small, QUICK, tmp_path)
    write_page(outcome, tmp_path)
    before = tmp_path / "small-table-1-quick.json"
    written = json.loads(before.read_text())
    del written["kafka"]
    before.write_text(json.dumps(written))
    page = write_page(dataclasses.replace(outcome, kafka="127.0.0.1:9092"), tmp_path)
    assert page.name == "small-table-1-quick-kafka.html"
    assert "--kafka 127.0.0.1:9092" in page.read_text()
    text = write_index(tmp_path).read_text()
    assert 'href="small-table-1-quick.html"' in text
    assert "quick, Kafka" in text
