"""Notices: a job's `notify` delivers them by runs of other jobs, each once."""

from collections import Counter
from collections.abc import Sequence
from html import unescape
from typing import Any

import pytest

from duecourse.testing import Scheduler
from duecourse.testing.faults import Fault, failing, lost

TARGET = {"type": "http", "url": "https://example.com/hook"}
ALL = ["dead", "late", "missed", "recovered", "paused", "deadline"]


def create(scheduler: Scheduler, job_id: str = "report", on: Sequence[str] = ALL, **more: Any) -> None:
    notify = [{"on": list(on), "to": {"job": "tell"}}] if on else []
    job = {"id": job_id, "schedule": "* * * * *", "target": TARGET, "retry": {"max_attempts": 1}, "notify": notify}
    scheduler.client.create_job({**job, **more})


@pytest.fixture
def scheduler() -> Scheduler:
    made = Scheduler("2026-01-01T00:00:30Z")
    made.client.create_job({"id": "tell", "schedule": None, "overlap": "allow", "target": TARGET})
    return made


def told(scheduler: Scheduler) -> list[Any]:
    """The payloads that the job `tell` delivered."""
    return [call.payload for call in scheduler.calls if call.job_id == "tell"]


def texts_of(teams: Any) -> list[str]:
    """The lines of an adaptive card."""
    blocks = teams["attachments"][0]["content"]["body"]
    return ["".join(run["text"] for run in block["inlines"]) for block in blocks]


def causes(scheduler: Scheduler) -> list[tuple[str, str | None]]:
    return [(each["cause"], each.get("run_id", "")[-8:] or None) for each in told(scheduler)]


def _refused(_call: object) -> None:
    raise OSError("throttled")


def test_notices_death_and_the_recovery_are_told_once_each(scheduler: Scheduler) -> None:
    create(scheduler, runbook_url="https://wiki.example.com/report", owner="billing")
    scheduler.answer("report", status=500, times=2)
    scheduler.advance(minutes=5)
    assert causes(scheduler) == [("dead", "T000100Z"), ("dead", "T000200Z"), ("recovered", "T000300Z")]
    first = told(scheduler)[0]
    assert (first["job_id"], first["code"], first["owner"]) == ("report", "http.500", "billing")
    assert first["text"].startswith("Run report.20260101T000100Z of report failed permanently: ")
    scheduler.answer("report", status=500, times=1)
    scheduler.advance(minutes=3)
    assert [cause for cause, _ in causes(scheduler)[3:]] == ["dead", "recovered"]


def test_notices_successes_write_and_send_nothing_more(scheduler: Scheduler) -> None:
    create(scheduler)
    before = scheduler.client.get_job("report").updated_at
    scheduler.advance(minutes=5)
    assert told(scheduler) == []
    assert scheduler.client.get_job("report").updated_at == before
    sent = [each.message.job_id for each in scheduler._stage.wheel.sent]
    assert set(sent) == {"report"}


def test_notices_forms_of_slack_and_teams(scheduler: Scheduler) -> None:
    rules = [{"on": ["dead"], "to": {"job": "tell", "format": form}} for form in ("slack", "teams")]
    create(scheduler, notify=rules, runbook_url="https://wiki.example.com/report")
    scheduler.answer("report", status=500, body="{{weak}}", times=1)
    scheduler.advance(minutes=2)
    slack, teams = told(scheduler)
    assert slack.keys() == {"text", "mrkdwn"}
    assert slack["text"].endswith("\nRunbook: https://wiki.example.com/report")
    assert "\n".join(texts_of(teams)) == slack["text"]


MARKUP = "<!channel> <https://evil.example|Log in> &amp; [Log in](https://evil.example) **x** <at>all</at>"


@pytest.mark.parametrize("form", ["slack", "teams"])
def test_notices_markup_of_targets_and_definitions_is_shown_as_text(scheduler: Scheduler, form: str) -> None:
    rule = {"on": ["dead", "paused"], "to": {"job": "tell", "format": form}}
    address = "https://wiki.example.com/<!here>?a=1&b=2"
    create(scheduler, notify=[rule], runbook_url=address, pause_on_failure=1, name=MARKUP, owner=MARKUP)
    scheduler.answer("report", status=500, body=MARKUP)
    scheduler.advance(minutes=2)
    assert len(told(scheduler)) == 2
    for notice in told(scheduler):
        if form == "slack":
            assert notice["mrkdwn"] is False
            assert not {"<", ">"} & set(notice["text"])
            shown = unescape(notice["text"])
        else:
            blocks = notice["attachments"][0]["content"]["body"]
            assert {block["type"] for block in blocks} == {"RichTextBlock"}  # without Markdown, unlike a TextBlock
            shown = "\n".join(texts_of(notice))
        assert shown.endswith(f"\nRunbook: {address}")


def test_notices_many_notices_of_a_job_become_five_and_a_digest_that_names_the_job(scheduler: Scheduler) -> None:
    create(scheduler, schedule="*/10 * * * * *", max_runs=12)
    scheduler.target(lambda call: 200 if call.job_id == "tell" else 500)
    scheduler.advance(minutes=5)
    assert [cause for cause, _ in causes(scheduler)] == ["dead"] * 5
    scheduler.advance(minutes=20)
    assert [each["cause"] for each in told(scheduler)] == ["dead"] * 5 + ["digest"]
    digest = told(scheduler)[-1]
    assert (digest["job_id"], digest["digest_of"]) == ("report", "dead")
    assert digest["text"].endswith("List its runs: duecourse runs list report --since 2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("fault", "messages"), [(failing(OSError("throttled"), times=1), 3), (lost(OSError("no response"), times=1), 2)]
)
def test_notices_digest_is_delivered_once_if_its_mark_fails(scheduler: Scheduler, fault: Any, messages: int) -> None:
    """Its second notice sends it again, and marks it. Without the mark, the repetition of that notice sends it too."""
    create(scheduler, schedule="*/10 * * * * *", max_runs=12)
    scheduler.target(lambda call: 200 if call.job_id == "tell" else 500)
    stage = scheduler._stage
    real, stage.note = stage.note, lambda report: None  # type: ignore[method-assign]
    with stage.faulty("inputs", mark_sent=fault):
        scheduler.advance(minutes=25)
    stage.note = real  # type: ignore[method-assign]
    assert fault.hits == 1
    assert [each["cause"] for each in told(scheduler)] == ["dead"] * 5 + ["digest"]
    assert len([each for each in stage.wheel.sent if each.message.job_id == "tell"]) == 5 + messages


def test_notices_of_other_jobs_and_other_causes_are_counted_separately(scheduler: Scheduler) -> None:
    create(scheduler, "noisy", schedule="*/10 * * * * *", max_runs=12)
    create(scheduler, "quiet", schedule="4 * * * *", max_runs=1)
    create(scheduler, "paused", schedule="*/10 * * * * *", pause_on_failure=6)
    scheduler.target(lambda call: 200 if call.job_id == "tell" else 500)
    scheduler.advance(minutes=20)
    assert Counter((each["job_id"], each["cause"]) for each in told(scheduler)) == {
        ("noisy", "dead"): 5,
        ("noisy", "digest"): 1,
        ("quiet", "dead"): 1,
        ("paused", "dead"): 5,
        ("paused", "digest"): 1,
        ("paused", "paused"): 1,
    }


def test_notices_each_format_of_a_rule_is_counted_separately(scheduler: Scheduler) -> None:
    rules = [{"on": ["dead"], "to": {"job": "tell", "format": form}} for form in ("slack", "json")]
    create(scheduler, notify=rules, schedule="*/10 * * * * *", max_runs=5)
    scheduler.target(lambda call: 200 if call.job_id == "tell" else 500)
    scheduler.advance(minutes=20)
    assert len(told(scheduler)) == 10


@pytest.mark.parametrize(
    "braces", ["{{{", "}}}", '{"a": {"b": {"c": {}}}}', "{{secret:key}}", r"\{{{week}}\}}", "{{{{{"]
)
def test_notices_text_with_braces_arrives_unchanged(scheduler: Scheduler, braces: str) -> None:
    create(scheduler, max_runs=1, owner=f"team {braces}")
    scheduler.answer("report", status=500, body=braces)
    scheduler.advance(minutes=5)
    (notice,) = told(scheduler)
    assert notice["owner"] == f"team {braces}"
    assert notice["text"].endswith(notice["error"])
    assert braces in notice["error"]


def test_notices_workflow_as_deliverer_passes_braces_on_unchanged(scheduler: Scheduler) -> None:
    step = {"target": TARGET, "payload": "{{workflow.payload.owner}}"}
    scheduler.client.put_workflow("flow", {"schedule": None, "overlap": "allow", "jobs": {"post": {"job": step}}})
    create(scheduler, owner="{{team}}", max_runs=1, notify=[{"on": ["dead"], "to": {"job": "flow"}}])
    scheduler.answer("report", status=500)
    scheduler.advance(minutes=5)
    assert [call.payload for call in scheduler.calls if call.job_id not in ("report", "flow")] == ["{{team}}"]


def test_notices_missed_deadline_a_pause_and_a_late_run(scheduler: Scheduler) -> None:
    create(scheduler, "waits", ["deadline"], completion="callback", finish_by=30, overlap="allow", max_runs=1)
    create(scheduler, "fails", ["paused"], pause_on_failure=1)
    scheduler.answer("fails", status=500)
    scheduler.advance(minutes=3)
    found = {each["cause"]: each for each in told(scheduler)}
    assert found.keys() == {"deadline", "paused"}
    assert found["deadline"]["deadline"] == "finish"
    assert found["paused"]["reason"] == "1 runs in a row died"


def test_notices_missed_occurrences_are_told_by_the_dispatcher(scheduler: Scheduler) -> None:
    create(scheduler, missed={"policy": "skip", "grace_seconds": 60})
    stage = scheduler._stage
    stage.until(stage.clock.now() + 1200, ticking=False)
    scheduler.advance(minutes=2)
    assert [each["cause"] for each in told(scheduler)] == ["missed"]
    assert "occurrences) did not run: missed" in told(scheduler)[0]["text"]


def test_notices_deliverer_that_fails_is_not_told_of_by_itself(scheduler: Scheduler) -> None:
    scheduler.client.patch_job("tell", {"notify": [{"on": ["dead"], "to": {"job": "tell"}}]})
    create(scheduler, max_runs=1)
    scheduler.target(lambda _: 400)
    scheduler.advance(minutes=5)
    assert len(told(scheduler)) == 1


def test_notices_rule_that_names_no_job_does_not_stop_the_run(scheduler: Scheduler) -> None:
    create(scheduler, notify=[{"on": ["dead"], "to": {"job": "nobody"}}])
    scheduler.answer("report", status=500)
    scheduler.advance(minutes=2)
    assert [run.state for run in scheduler.client.list_runs("report", state=["DEAD"])] == ["DEAD"] * 2
    sent = scheduler.client.send_test_notice("report")
    assert (sent.runs, sent.missing) == ((), ("nobody",))


@pytest.mark.parametrize(
    ("attribute", "method", "fault"),
    [
        ("inputs", "put", failing(OSError("throttled"), times=1)),
        ("inputs", "put", lost(OSError("no response"), times=1)),
        ("run_store", "write", Fault(_refused, times=1, when=lambda run, *_: getattr(run, "notified", False))),
    ],
    ids=["put fails", "put is lost", "record fails"],
)
def test_notice_is_delivered_once_whatever_fails(scheduler: Scheduler, attribute: str, method: str, fault: Any) -> None:
    create(scheduler, max_runs=1)
    scheduler.answer("report", status=500)
    stage = scheduler._stage
    real, stage.note = stage.note, lambda report: None  # type: ignore[method-assign]
    with stage.faulty(attribute, **{method: fault}):
        scheduler.advance(minutes=10)
    stage.note = real  # type: ignore[method-assign]
    assert fault.hits == 1
    assert causes(scheduler) == [("dead", "T000100Z")]


def test_notices_lane_that_refuses_a_delivery_receives_it_later(scheduler: Scheduler) -> None:
    create(scheduler, max_runs=1)
    scheduler.answer("report", status=500)
    stage = scheduler._stage
    real, stage.note = stage.note, lambda report: None  # type: ignore[method-assign]
    stage.wheel.refuse = lambda message: message.job_id == "tell"
    scheduler.advance(seconds=31)
    stage.wheel.refuse = lambda _: False
    scheduler.advance(minutes=10)
    stage.note = real  # type: ignore[method-assign]
    assert causes(scheduler) == [("dead", "T000100Z")]


def test_notices_test_notice_is_delivered_to_each_target_once(scheduler: Scheduler) -> None:
    create(scheduler, notify=[{"on": [cause], "to": {"job": "tell"}} for cause in ("dead", "late")])
    sent = scheduler.client.send_test_notice("report")
    assert [run.job_id for run in sent.runs] == ["tell"]
    scheduler.advance(seconds=5)
    assert told(scheduler)[0]["text"] == "This is a test of the notices about report"


class Counting:
    """A store or queue whose requests are counted."""

    def __init__(self, real: Any, counts: Counter[str]) -> None:
        self._real, self._counts = real, counts

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if not callable(found):
            return found

        def counted(*given: Any, **named: Any) -> Any:
            self._counts[f"{type(self._real).__name__}.{name}"] += 1
            return found(*given, **named)

        return counted


def requests(**more: Any) -> Counter[str]:
    """The requests of ten minutes of a job whose runs succeed."""
    counts: Counter[str] = Counter()
    made = Scheduler("2026-01-01T00:00:30Z")
    create(made, on=(), **more)
    for name in ("jobs", "cursors", "run_store", "wait_queues", "inputs", "timers"):
        setattr(made._stage, name, Counting(getattr(made._stage, name), counts))
    made.advance(minutes=10)
    assert len(made.calls) == 10
    return counts


def test_notices_successes_of_a_job_with_notices_make_no_request_more() -> None:
    plain = requests()
    assert plain
    assert requests(notify=[{"on": ALL, "to": {"job": "tell"}}]) == plain


def test_notices_deadlines_that_are_met_only_read() -> None:
    plain, more = requests(), requests(start_within_seconds=30, finish_by=7200)
    assert {name for name, count in (more - plain).items() if count} <= {
        "JobStore.snapshot",
        "RunStore.get",
    }
