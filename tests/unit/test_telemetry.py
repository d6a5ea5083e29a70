"""Log lines are written whatever their facts are called; metrics have few dimensions, and cost nothing when idle."""

import json
import logging
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools import Logger, Metrics

from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.api_keys import key_text
from duecourse.domain.runs.states import RunState
from duecourse.messages import RunMessage
from duecourse.stores import run_item
from duecourse.telemetry import function_logger, log_events, loggable, publish
from duecourse.usecases.report import Event, Report, about
from tests.support.jobs import job
from tests.support.runs import run
from tests.support.varied import varied

_numbers = count()
FUNCTIONS = Path(__file__).resolve().parents[2] / "functions"

Emitted = dict[tuple[tuple[str, str], ...], dict[str, Any]]
"""Values by metric, by dimension set."""


@pytest.mark.parametrize("name", ["created", "name", "args", "message", "module", "process"])
def test_telemetry_fact_with_a_name_reserved_by_logging_is_logged_under_another_name(name: str) -> None:
    assert loggable({name: 1, "job_id": "nightly"}) == {f"{name}_": 1, "job_id": "nightly"}
    out = StringIO()
    logger = Logger(service=f"test-{name}", level=logging.INFO, stream=out)
    publish(Report(events=[Event("told", {name: 1})]), logger, Metrics(namespace="Duecourse"))
    (line,) = [json.loads(text) for text in out.getvalue().splitlines()]
    assert (line["action"], line[f"{name}_"]) == ("told", 1)


FACTS: list[dict[str, Any]] = [
    {"attempt": 1, "code": None, "delays": {"queue": 1.5}},
    {"level": "mine", "name": "n", "location": "here", "timestamp": 1},
    {"error": "Grüße\x1b[2J\u2028", "detail": f"dc1.acme.3.{'Zx9' * 8}"},
]


def told(events: list[Event], level: int = logging.INFO) -> list[dict[str, Any]]:
    """The log lines of events, in which instant and place differ."""
    out = StringIO()
    logger = function_logger(service=f"told-{next(_numbers)}", level=level, stream=out)
    logger.append_keys(function_name="execute")
    log_events(Report(events=events), logger)
    lines = [json.loads(text) for text in out.getvalue().splitlines()]
    for line in lines:
        assert line.pop("timestamp")
        assert line.pop("location").startswith("log_events:")
        del line["service"]
    return lines


def test_telemetry_lines_of_many_events_have_the_same_fields_as_lines_of_single_events() -> None:
    events = [Event("told", facts, alarming) for facts in FACTS for alarming in (False, True)]
    together = told(events)
    assert together == [line for event in events for line in told([event])]
    assert [line["level"] for line in together] == ["INFO", "ERROR"] * 3


def test_telemetry_of_many_events_is_limited_to_the_level_of_the_logger() -> None:
    events = [Event("told", facts, alarming) for facts in FACTS for alarming in (False, True)]
    assert [line["level"] for line in told(events, logging.ERROR)] == ["ERROR"] * 3


STEERING = "a\x00b\x1b[2Jc\x7fd\x9be\u061cf\u200eg\u200fh\u202ei\u2066j\u2069k\ud800l\nm"


def test_telemetry_log_entry_contains_no_control_characters_and_loses_no_text() -> None:
    out = StringIO()
    logger = function_logger(service="test-steering", level=logging.INFO, stream=out)
    publish(Report(events=[Event("told", {"error": STEERING})]), logger, Metrics(namespace="Duecourse"))
    logger.error("failed %s", STEERING.replace("\ud800", "Grüße"))  # pytest keeps what is logged, as text
    lines = out.getvalue().splitlines()
    assert len(lines) == 2
    for line in lines:
        assert all(each.isprintable() for each in line)
        line.encode()
    assert json.loads(lines[0])["error"] == STEERING
    assert "Grüße" in lines[1]


SECRET = "Zx9-_secretsecret0123456"


@pytest.mark.parametrize(
    "credential",
    [
        key_text("acme", SECRET).text,
        key_text("acme", SECRET).text.replace(".", "%2E"),
        f"dc1.acme.3.{SECRET}",
        f"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9.{SECRET}",
        f"whsec_{SECRET}",
    ],
)
def test_telemetry_log_entry_contains_no_credential_that_a_caller_has_pasted(credential: str) -> None:
    out = StringIO()
    logger = function_logger(service=f"test-credentials-{next(_numbers)}", level=logging.INFO, stream=out)
    facts = {"detail": f'There is no key "{credential}".', "faults": [{"pointer": f"/{credential}/x"}], "rest": "kept"}
    publish(Report(events=[Event("request_refused", facts)]), logger, Metrics(namespace="Duecourse"))
    logger.error("failed %s", credential)
    assert SECRET not in out.getvalue()
    line = json.loads(out.getvalue().splitlines()[0])
    assert (line["rest"], line["detail"].endswith('***".')) == ("kept", True)


@pytest.mark.parametrize("handler", sorted(FUNCTIONS.glob("*/handler.py")), ids=lambda file: file.parent.name)
def test_telemetry_all_functions_use_the_common_logger(handler: Path) -> None:
    text = handler.read_text()
    assert "Logger(" not in text
    assert ("logger = function_logger()" in text) == ("logger" in text)


def emitted(report: Report, capsys: pytest.CaptureFixture[str], **dimensions: str) -> Emitted:
    """What CloudWatch makes of it."""
    logger = Logger(service=f"telemetry-{next(_numbers)}", stream=StringIO())
    publish(report, logger, Metrics(namespace="Duecourse", service="duecourse"), **dimensions)
    found: Emitted = {}
    for document in (json.loads(line) for line in capsys.readouterr().out.splitlines()):
        (directive,) = document["_aws"]["CloudWatchMetrics"]
        for names in directive["Dimensions"]:
            values = {each["Name"]: (each["Unit"], document[each["Name"]]) for each in directive["Metrics"]}
            key = tuple(sorted((name, document[name]) for name in names))
            there = found.setdefault(key, {})
            assert not there.keys() & values.keys(), "the same metric twice"
            there.update(values)
    return found


SERVICE = ("service", "duecourse")
OF_EXECUTE = (("function", "execute"), SERVICE)


def test_telemetry_worker_metrics_are_emitted_by_lane_and_run_outcomes_by_target(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = Report()
    report.count("AttemptsStarted", "http")
    report.count("AttemptsStarted", "sqs")
    report.count("RunsDead", "http")
    report.count("RunsSkipped", None)
    report.measure("Lateness", 0.0415)
    late = {"Lateness": ("Milliseconds", [41.5])}
    counts = {"AttemptsStarted": ("Count", [2.0]), "RunsDead": ("Count", [1.0]), "RunsSkipped": ("Count", [1.0])}
    assert emitted(report, capsys, function="execute", lane="low") == {
        (("function", "execute"), ("lane", "low"), SERVICE): late,
        OF_EXECUTE: counts | late,
        (*OF_EXECUTE, ("target", "http")): {"RunsDead": ("Count", [1.0])},
        (SERVICE, ("symptom", "jobs")): {"Failures": ("Count", [1.0])},
    }


def test_telemetry_attributes_that_a_process_has_ignored_are_counted_once(capsys: pytest.CaptureFixture[str]) -> None:
    run_item.ignored()
    skipped = run(job(), RunState.SKIPPED, attempt=0)
    run_item.from_item(run_item.to_item(skipped) | {"progress": {"N": "0.5"}, "error": {"S": "no"}})
    assert emitted(Report(), capsys, function="archive") == {
        (("function", "archive"), SERVICE): {"AttributesIgnored": ("Count", [2.0])}
    }
    assert emitted(Report(), capsys, function="archive") == {}


def test_telemetry_round_metrics_cover_all_shards(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report({"shard": 3})
    report.counts["SlotsRead"] += 3
    report.age("WatermarkAge", 7812.25)
    assert emitted(report, capsys, function="dispatch") == {
        (("function", "dispatch"), SERVICE): {"WatermarkAge": ("Seconds", [7812.25])}
    }
    report.ages.clear()
    assert emitted(report, capsys, function="dispatch") == {}, "what every round counts is in its log line only"


def test_telemetry_zero_metrics_are_omitted_except_those_that_are_always_expected(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = Report()
    report.counts.update({"RunsDead": 0, "RunsSkipped": 0})
    assert emitted(report, capsys, function="execute") == {
        (("function", "execute"), SERVICE): {"RunsDead": ("Count", [0.0])}
    }
    report.counts.pop("RunsDead")
    assert emitted(report, capsys, function="execute") == {}


def test_telemetry_tick_without_findings_emits_no_metric(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report()
    report.counts.update({"TicksSent": 16, "TicksRefused": 0})
    assert emitted(report, capsys, function="tick") == {}


def test_telemetry_failures_are_also_emitted_by_symptom_over_all_functions(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report()
    report.counts.update({"EventsRefused": 2, "ResultsLost": 1, "MessagesFailed": 1, "SendsRefused": 0})
    found = emitted(report, capsys, function="execute")
    assert found.pop((("function", "execute"), SERVICE)).keys() == {"EventsRefused", "ResultsLost", "MessagesFailed"}
    assert found == {
        (SERVICE, ("symptom", "maintenance")): {"Failures": ("Count", [3.0])},
        (SERVICE, ("symptom", "workers")): {"Failures": ("Count", [1.0])},
        (SERVICE, ("symptom", "release")): {"Failures": ("Count", [1.0])},
    }


def test_telemetry_publication_leaves_no_metrics_for_the_next_one(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report()
    report.count("RunsDead", "http")
    emitted(report, capsys, function="execute", lane="low")
    other = Report()
    other.counts["TicksRefused"] += 1
    assert list(emitted(other, capsys, function="tick")) == [(("function", "tick"), SERVICE)]


def test_telemetry_merged_report_contains_the_values_of_both() -> None:
    one, other = Report({"shard": 1}), Report({"shard": 1})
    for report, target, age in ((one, "http", 1.0), (other, "http", 3.0), (other, None, 2.0)):
        report.count("RunsDead", target)
        report.age("WatermarkAge", age)
    other.add("dispatched", complete=True)
    one.merge(other)
    assert (one.counts["RunsDead"], one.by_target["http"]["RunsDead"], one.ages) == (3, 2, {"WatermarkAge": 2.0})
    assert [(event.action, event.facts) for event in one.events] == [("dispatched", {"shard": 1, "complete": True})]
    assert one.part() == Report({"shard": 1})


def test_telemetry_log_entries_contain_tenant_job_run_and_correlation_id() -> None:
    message = RunMessage(RunIdentity("acme", "nightly", 1_795_243_620, 1_795_243_620, 1), Lane.NORMAL, 0.0, "n")
    whose = {"tenant": "acme", "job_id": "nightly", "run_id": "nightly.20261121T064700Z"}
    assert about(message) == whose
    assert about(varied(message, correlation_id="order-4711")) == whose | {"correlation_id": "order-4711"}
