"""The tools that ``evenkey mcp`` offers: the functions of the command line, with typed results."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from evenkey.cli.advise import sample_of
from evenkey.cli.assistants.assistant_results import (
    AdviceFound,
    ChangeFound,
    DiagnosisFound,
    ExplanationFound,
    GroupingPrediction,
    PlacementFound,
    SimulationFound,
    StageFound,
)
from evenkey.core.errors import ConfigurationError
from evenkey.core.extras import load_extra
from evenkey.pipeline.aggregate import PipelineConfig
from evenkey.reports.diagnosis import Finding, stage_title

_SHOWN_KEYS = 5
_PURPOSE = "evenkey mcp"


def diagnose(
    source: str, application: str | None = None, last_hours: float | None = None
) -> DiagnosisFound:
    """Find the stages of Spark applications that skewed keys or other causes slow down.

    source is a Spark event log, a directory of logs, or the address of a history server or of a
    running application; application is the id of one of them; last_hours leaves out applications
    that ended earlier. Each stage has a cause, and each change its predicted speedup, its
    confidence and the lines to write. Spark is not started.
    """
    from evenkey.reports.diagnosis import diagnose as diagnosed

    found = diagnosed(source, application=application, last_hours=last_hours)
    cautions = [*found.cautions, *(each for one in found.applications for each in one.cautions)]
    stages = [_stage(finding) for one in found.applications for finding in one.findings]
    return DiagnosisFound(
        source=source, to_change=len(found.named), cautions=cautions, stages=stages
    )


def _stage(finding: Finding) -> StageFound:
    changes = [
        ChangeFound.model_validate(vars(each.remedy) | vars(each)) for each in finding.changes
    ]
    return StageFound(
        application=finding.application.name,
        application_id=finding.application.id,
        title=stage_title(finding),
        verdict=finding.verdict,
        cause=finding.cause,
        reason=finding.reason,
        seconds=finding.work.seconds,
        saved_seconds=finding.saved,
        spark_suffices=finding.spark_suffices,
        notes=list(finding.notes),
        changes=changes,
    )


def advise(
    files: list[str], key: str, workers: list[int] | None = None, rows: int = 1_000_000
) -> AdviceFound:
    """Measure how skewed the keys of files are, and recommend a grouping and a worker count.

    files are CSV, JSON lines or Parquet; key is the column of the key, or several separated by
    commas; workers are the numbers of workers to choose from (default: 10); rows is how many rows
    to read at most. Spark is not started.
    """
    from evenkey.reports import advice

    config = PipelineConfig(input=tuple(map(Path, files)), key=key)
    config.check_paths()
    split = config.resolved_split()
    advice.check_split(split)
    sample, long_records = sample_of(config, rows, "even")
    setting = advice.Setting(
        tuple(map(str, config.input)), split, config.key, long_records=long_records
    )
    found = advice.advise(sample, setting, workers or [10], sources=config.sources)
    return AdviceFound(
        headline=found.headline,
        grouping=found.recommendation.grouping,
        workers=found.recommendation.workers,
        reasons=list(found.recommendation.reasons),
        code=found.code,
        messages=found.skew.messages,
        keys=found.skew.keys,
        hottest_shares=[share for _, _, share in found.skew.top[:_SHOWN_KEYS]],
        caution=found.caution,
        predictions=[
            GroupingPrediction.model_validate(each, from_attributes=True)
            for each in found.predictions
        ],
    )


def simulate(
    dataset: str, groupings: list[str], workers: int = 10, messages: int = 100_000
) -> list[SimulationFound]:
    """Simulate groupings on a generated stream, and return how balanced the workers are.

    dataset is a name or a spelling such as zipf(z=1.4,keys=1000); groupings are spellings such as
    kg, pkg(choices=3) or planned; messages is the length of the stream. Spark is not started.
    """
    from evenkey.pipeline.aggregate import opened_stream
    from evenkey.simulation import simulate as simulated

    config = PipelineConfig(dataset=dataset, messages=messages, workers=workers)
    results = []
    with opened_stream(config) as stream:
        for grouping in groupings:
            chosen = config.with_options(grouping=grouping)
            report = simulated(
                stream, chosen.resolved_grouping(), workers=workers, sources=config.sources
            )
            figures = report.to_json()
            names = SimulationFound.model_fields
            results.append(SimulationFound(**{each: figures[each] for each in names}))
    return results


Operator = Literal["groupBy", "join", "over", "partition_for_write"]


def explain(
    operator: Operator,
    files: str,
    key: list[str],
    other_files: str | None = None,
    order_by: list[str] | None = None,
    workers: int = 10,
) -> ExplanationFound:
    """Say what an operator of evenkey.spark would do with the keys of files, and why.

    files is a path that Spark reads as CSV with a header, JSON lines or Parquet, by its ending; a
    join also needs other_files, over needs order_by. The hot keys are named. This starts a local
    Spark at the first call.
    """
    from evenkey import spark as eks

    df = _read(files)
    if operator == "groupBy":
        found = eks.explain(eks.groupBy, df, *key, workers=workers)
    elif operator == "partition_for_write":
        found = eks.explain(eks.partition_for_write, df, key, files=workers)
    elif operator == "join":
        other = _read(_given("other_files", other_files, "the files of the other side"))
        found = eks.explain(eks.join, df, other, key, workers=workers)
    else:
        functions = load_extra("pyspark.sql.functions", "cli", _PURPOSE)
        order = _given("order_by", order_by, "the columns of the order")
        columns = {"row_number": functions.row_number()}
        found = eks.explain(eks.over, df, key, order, columns, workers=workers)
    placements = [
        PlacementFound.model_validate(each, from_attributes=True) for each in found.placements
    ]
    return ExplanationFound(text=str(found), tasks=found.tasks, placements=placements)


def _given(name: str, value: Any, what: str) -> Any:
    if not value:
        message = f"{name} is missing: pass {what}"
        raise ConfigurationError(message)
    return value


def _read(path: str) -> Any:
    from evenkey.spark import session

    reader = session().read
    if path.rstrip("/").endswith((".json", ".jsonl", ".json.gz", ".jsonl.gz")):
        return reader.json(path)
    if path.rstrip("/").endswith((".csv", ".csv.gz")):
        return reader.csv(path, header=True, inferSchema=True)
    return reader.parquet(path)


TOOLS = (diagnose, advise, simulate, explain)
