"""Bodies that are wrong, field by field.

- Each bad field of a posted job is named by its pointer, with the remedy.
- The fields that say how long a run may take, how it ends, and what failures mean.
- Templates in what a job hands on are checked when it is created.
- Bodies are read as strictly as I-JSON has it; what is refused is refused with 400, or as a fault with its place.
"""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.api.answers import job_document
from duecourse.api.bodies.models import read_json, unfit, write_json
from duecourse.api.problems import MAX_FAULTS, Problem
from duecourse.domain.jobs.job import Completion, EventKind, OnDeadline, Overlap, RetryPolicy
from duecourse.domain.tenants.quota import MAX_DEPTH, MAX_PAYLOAD_BYTES
from duecourse.usecases.jobs.view import JobView
from tests.support.api import HTTP_TARGET
from tests.support.jobs import job
from tests.support.posting import errors, posted, read


@pytest.mark.parametrize(
    ("change", "place", "said"),
    [
        ({"schedule": 5}, "/schedule", "must be text"),
        ({"schedule": ""}, "/schedule", "must not be empty"),
        ({"schedule": "*" * 257}, "/schedule", "at most 256 characters"),
        ({"schedule": "nonsense"}, "/schedule", ""),
        ({"schedule": "at(2026-11-21T12:00:00)"}, "/schedule", "no occurrence in the future"),
        ({"schedule": "at(2020-01-01T00:00:00)"}, "/schedule", "no occurrence in the future"),
        ({"schedule": "0 0 30 2 *"}, "/schedule", ""),
        ({"schedule": []}, "/schedule", "must have at least 1 entry"),
        ({"schedule": [f"{minute} 9 * * 1" for minute in range(11)]}, "/schedule", "at most 10 entries are allowed"),
        ({"schedule": ["0 9 * * 1", 5]}, "/schedule/1", "must be text"),
        ({"schedule": ["0 9 * * 1", "0 25 * * 1"]}, "/schedule/1", 'hour "25": 25 is out of range'),
        ({"schedule": ["0 9 * * 1", "0 9 * * 1"]}, "/schedule/1", "is the same as entry 0; remove one of them"),
        ({"schedule": ["0 9 * * 1", "0 9 * * 1|0 9 * * 2"]}, "/schedule/1", "contains |; write several schedules as"),
        ({"schedule": "0 9 * * 1|0 9 * * 2"}, "/schedule", "contains |; write several schedules as a list"),
        ({"schedule": [f"0 9 * * {day}{' ' * 60}" for day in range(5)]}, "/schedule", "at most 256 are allowed"),
        ({"schedule": ["at(2020-01-01T00:00:00)", "at(2021-01-01T00:00:00)"]}, "/schedule", "no occurrence in the"),
        (
            {"schedule": ["0 9 * * 1", "rate(1 day)"], "on_excluded": "next"},
            "/on_excluded",
            "write the schedule as cron",
        ),
        ({"schedule": ["0 9 * * 1", "0 9 * * 2"], "timezone": "Berlin"}, "/timezone", "Europe/Berlin"),
        ({"schedule": "\ud800"}, "/schedule", "unpaired surrogate"),
        ({"concurrency": {"key": ".", "limit": 1}}, "/concurrency/key", "must not be only one or two dots"),
        ({"concurrency": {"key": "..", "limit": 1}}, "/concurrency/key", "must not be only one or two dots"),
        ({"timezone": "Berlin"}, "/timezone", "Europe/Berlin"),
        ({"timezone": None}, "/timezone", "must be text"),
        ({"timezone": "../../etc/passwd"}, "/timezone", "not the name"),
        ({"dst_gap": "first"}, "/dst_gap", "must be one of next, skip"),
        ({"start": "tomorrow"}, "/start", "2026"),
        ({"start": 5}, "/start", "must be an instant in UTC"),
        ({"start": "9999-12-30T23:59:59Z"}, "/start", "of 0001-01-03T00:00:00Z to 9999-12-29T23:59:59Z"),
        ({"anchor": "0001-01-01T00:00:00Z"}, "/anchor", "of 0001-01-03T00:00:00Z to 9999-12-29T23:59:59Z"),
        ({"start": "2027-01-02T00:00:00Z", "end": "2027-01-01T00:00:00Z"}, "/end", ""),
        ({"end": "2026-01-01T00:00:00Z"}, "/schedule", "no occurrence in the future"),
        ({"exclude": "2026-12-25"}, "/exclude", "must be a list"),
        ({"exclude": ["2026-12-25", "christmas"]}, "/exclude/1", "write an instant as"),
        ({"exclude": ["2026-12-25/2026-12-24"]}, "/exclude/0", "ends before it begins"),
        ({"exclude": ["9999-12-31T23:59:59-14:00"]}, "/exclude/0", "within the years 1 to 9999 in UTC"),
        ({"exclude": ["0001-01-01T00:00:00+14:00"]}, "/exclude/0", "within the years 1 to 9999 in UTC"),
        ({"schedule": "9999-12-31T23:59:59-23:59"}, "/schedule", "within the years 1 to 9999 in UTC"),
        ({"schedule": "0001-01-01T00:00:00+00:01"}, "/schedule", "within the years 1 to 9999 in UTC"),
        ({"schedule": "R5/9999-12-31T23:59:59-23:59/PT1H"}, "/schedule", "within the years 1 to 9999 in UTC"),
        (
            {"schedule": "at(2026-12-25T09:00:00)", "exclude": ["2026-12-24", "2026-12-25/2026-12-31"]},
            "/exclude/1",
            '"2026-12-25/2026-12-31" excludes 2026-12-25T09:00:00Z, and the schedule has no other future occurrence',
        ),
        (
            {
                "schedule": "R3/2026-12-24T09:00:00Z/P1D",
                "timezone": "Europe/Berlin",
                "exclude": ["2026-12-24T10:00:00+01:00", "2026-12-25/2026-12-31"],
            },
            "/exclude/0",
            "excludes 2026-12-24T09:00:00Z, and the schedule has no other future occurrence",
        ),
        (
            {"schedule": "at(2020-01-01T00:00:00)", "exclude": ["2020-01-01"]},
            "/schedule",
            "no occurrence in the future",
        ),
        (
            {"schedule": "rate(2 minutes)", "anchor": "2026-01-01T00:00:00Z", "exclude": ["*/2 * * * *"]},
            "/exclude",
            "the search for the next occurrence takes too long; use fewer or simpler cron expressions",
        ),
        ({"exclude": ["2026-12-25"] * 41}, "/exclude", "at most 40 entries"),
        ({"jitter_seconds": 3601}, "/jitter_seconds", "from 0 to 3600"),
        ({"max_runs": 0}, "/max_runs", "from 1 to 10000"),
        ({"dst_fold": "last"}, "/dst_fold", "must be one of first, second, both"),
        ({"id": ""}, "/id", "must be 1 to 64 letters"),
        ({"id": "a" * 65}, "/id", "must be 1 to 64 letters"),
        ({"id": "a\n"}, "/id", "must be 1 to 64 letters"),
        ({"id": "\uff41"}, "/id", "must be 1 to 64 letters"),
        ({"id": "a#b"}, "/id", "must be 1 to 64 letters"),
        ({"id": 7}, "/id", "must be text"),
        ({"name": "x" * 257}, "/name", "at most 256 characters"),
        ({"name": "a\nb"}, "/name", "control characters"),
        ({"name": "a\x00"}, "/name", "control characters"),
        ({"name": "\udfff"}, "/name", "unpaired surrogate"),
        ({"owner": "x" * 129}, "/owner", "at most 128 characters"),
        ({"owner": "a\nb"}, "/owner", "control characters"),
        ({"owner": None}, "/owner", "must be text"),
        ({"description": "x" * 501}, "/description", "at most 500 characters"),
        ({"runbook_url": "ftp://example.com/x"}, "/runbook_url", "https:// or http://"),
        ({"runbook_url": "javascript:alert(1)"}, "/runbook_url", "https:// or http://"),
        ({"runbook_url": "https://example.com/a b"}, "/runbook_url", "no spaces"),
        ({"runbook_url": "https://" + "a" * 2048}, "/runbook_url", "at most 2048 characters"),
        ({"target": None}, "/target", "must be an object"),
        ({"target": []}, "/target", "must be an object"),
        ({"target": {}}, "/target/type", "is required"),
        ({"target": {"type": "smtp"}}, "/target/type", "must be one of http, lambda, sqs"),
        ({"target": {"type": []}}, "/target/type", "must be one of http, lambda, sqs"),
        ({"target": {"type": "http"}}, "/target/url", "is required"),
        ({"target": {"type": "lambda"}}, "/target/function", "is required"),
        ({"target": {"type": "lambda", "function": "billing"}}, "/target/function", "duecourse-target-*"),
        (
            {"target": {"type": "lambda", "function": "duecourse-target-a", "url": "x"}},
            "/target/url",
            "not a known field",
        ),
        ({"target": HTTP_TARGET | {"url": "https://" + "a" * 2048}}, "/target/url", "at most 2048 characters"),
        ({"target": HTTP_TARGET | {"method": "TRACE"}}, "/target/method", "must be one of GET, POST"),
        ({"target": HTTP_TARGET | {"headers": []}}, "/target/headers", "must be an object of names"),
        ({"target": HTTP_TARGET | {"headers": {"a": 1}}}, "/target/headers/a", "must be text"),
        ({"target": HTTP_TARGET | {"headers": {"a": "b\r\nc: d"}}}, "/target/headers", "line breaks"),
        ({"target": HTTP_TARGET | {"headers": {"a b": "c"}}}, "/target/headers", "only letters"),
        ({"target": HTTP_TARGET | {"headers": {"": "c"}}}, "/target/headers", "only letters"),
        ({"target": HTTP_TARGET | {"headers": {"a": "\u20ac"}}}, "/target/headers", "Latin-1"),
        ({"target": HTTP_TARGET | {"headers": {"X-Duecourse-Run-Id": "c"}}}, "/target/headers", "set by Duecourse"),
        ({"target": HTTP_TARGET | {"headers": {"host": "c"}}}, "/target/headers", "set by Duecourse"),
        ({"target": HTTP_TARGET | {"headers": {"x-a": "1", "X-A": "2"}}}, "/target/headers", "set twice"),
        ({"target": HTTP_TARGET | {"headers": {"x": "v" * 4097}}}, "/target/headers", "at most 4096"),
        (
            {"target": HTTP_TARGET | {"headers": {f"x{n}": "v" for n in range(51)}}},
            "/target/headers",
            "at most 50 entries",
        ),
        ({"payload": "x" * (MAX_PAYLOAD_BYTES - 1)}, "/payload", "store the data elsewhere"),
        ({"payload": {"a": 2**64}}, "/payload/a", "does not fit in 64 bits"),
        ({"priority": "long"}, "/priority", "must be one of high, normal, low"),
        ({"priority": "High"}, "/priority", "must be one of high, normal, low"),
        ({"priority": None}, "/priority", "must be one of high, normal, low"),
        ({"priority": {}}, "/priority", "must be one of high, normal, low"),
        ({"timeout_seconds": 0}, "/timeout_seconds", "from 1 to 840"),
        ({"timeout_seconds": 841}, "/timeout_seconds", "from 1 to 840"),
        ({"timeout_seconds": 10**300}, "/timeout_seconds", ""),
        ({"timeout_seconds": 1e300}, "/timeout_seconds", "from 1 to 840"),
        ({"timeout_seconds": True}, "/timeout_seconds", "whole number"),
        ({"timeout_seconds": "30"}, "/timeout_seconds", "whole number"),
        ({"timeout_seconds": 1.5}, "/timeout_seconds", "whole number"),
        ({"timeout_seconds": float("nan")}, "/timeout_seconds", ""),
        ({"retry": {"never": [-1]}}, "/retry/never/0", "must be a status (503)"),
        ({"retry": []}, "/retry", "must be an object"),
        ({"retry": {"max_attempts": 101}}, "/retry/max_attempts", "from 1 to 100"),
        ({"retry": {"backoff": "none"}}, "/retry/backoff", "exponential, linear, fixed"),
        ({"retry": {"min_seconds": -1}}, "/retry/min_seconds", "from 0 to 86400"),
        ({"retry": {"min_seconds": True}}, "/retry/min_seconds", "must be a number"),
        ({"retry": {"min_seconds": 10, "max_seconds": 5}}, "/retry/max_seconds", "not be less than min_seconds"),
        ({"retry": {"min_seconds": 4000}}, "/retry/max_seconds", "the default is 3600"),
        ({"retry": {"max_attempt": 3}}, "/retry/max_attempt", "did you mean max_attempts?"),
        ({"missed": {"policy": "none"}}, "/missed/policy", "skip, run_once, run_all"),
        ({"missed": {"grace_seconds": 0}}, "/missed/grace_seconds", "from 5 to 86400"),
        ({"missed": {"max_missed": 101}}, "/missed/max_missed", "from 1 to 100"),
        ({"overlap": "wait"}, "/overlap", "must be one of skip, queue, newest, replace, allow"),
        ({"precision": "millisecond"}, "/precision", "must be one of second, exact"),
        ({"delivery": "exactly_once"}, "/delivery", "must be one of at_least_once, at_most_once"),
        ({"idempotency_key": ""}, "/idempotency_key", "must not be empty"),
        ({"idempotency_key": "{{weak}}"}, "/idempotency_key", "{{weak}} is unknown; known names: "),
        ({"idempotency_key": "{{attempt}}"}, "/idempotency_key", "is not allowed here"),
        ({"idempotency_key": "a{{week"}, "/idempotency_key", "no matching pair"),
        ({"idempotency_key": "a\r\nb"}, "/idempotency_key", "printable ASCII"),
        ({"idempotency_key": "k" * 257}, "/idempotency_key", "at most 255 characters"),
        ({"tags": "billing"}, "/tags", "must be a list"),
        ({"events": ["deaths", "failures", "late", "deadlines", "all", "deaths"]}, "/events", "at most 5 entries"),
        ({"events": ["late", "late"]}, "/events", "contains late more than once"),
        ({"tags": ["a", "b", "a"]}, "/tags", "contains a more than once"),
        ({"tags": [str(n) for n in range(21)]}, "/tags", "at most 20 entries"),
        ({"tags": ["ok", "a b"]}, "/tags/1", "must be 1 to 64 letters"),
        ({"tags": ["a" * 65]}, "/tags/0", "must be 1 to 64 letters"),
        ({"tags": [{}]}, "/tags/0", "must be text"),
        ({"Schedule": "x"}, "/Schedule", "did you mean schedule?"),
        ({"depends_on": []}, "/depends_on", "the fields are "),
        ({"__class__": "x"}, "/__class__", "is not a known field"),
    ],
)
def test_job_validation_names_the_bad_field_and_the_remedy(change: dict[str, Any], place: str, said: str) -> None:
    found = errors(posted(**change))
    assert list(found) == [place]
    assert said in found[place]


def test_job_validation_suggests_corrections_for_as_many_unknown_fields_as_are_listed() -> None:
    found = errors(posted(**{f"schedule{number:02}": 1 for number in range(60)}))
    assert len(found) == 60
    hinted = [place for place, said in found.items() if "did you mean schedule?" in said]
    assert hinted == [f"/schedule{number:02}" for number in range(MAX_FAULTS)]


def test_job_validation_callback_waits_one_day_by_default() -> None:
    draft = read(posted(completion="callback"))
    assert (draft.completion, draft.completion_seconds, draft.heartbeat_seconds) == (Completion.CALLBACK, 86_400, None)


@pytest.mark.parametrize(
    "target",
    [
        {"type": "stepfunctions", "machine": "duecourse-target-flow"},
        {"type": "lambda", "function": "duecourse-target-durable", "mode": "async", "qualifier": "live"},
    ],
)
def test_job_validation_run_can_end_with_the_work_of_these_targets(target: dict[str, Any]) -> None:
    draft = read(posted(completion="end", target=target, heartbeat_seconds=60, payload={"t": "{{callback_token}}"}))
    assert (draft.completion, draft.completion_seconds, draft.heartbeat_seconds) == (Completion.END, 86_400, 60)


def test_job_validation_reads_every_new_field() -> None:
    draft = read(
        posted(
            estimated_seconds=3600,
            start_deadline_seconds=600,
            start_within_seconds=60,
            finish_by="06:00",
            on_deadline="cancel",
            pause_on_failure=3,
            completion="callback",
            completion_seconds=2_592_000,
            heartbeat_seconds=5,
            events=["late", "deaths"],
            overlap="queue",
            retry={"on": ["5xx", 429, "Throttling*"], "never": ["400"], "max_age_seconds": 7200},
        )
    )
    assert (draft.estimated_seconds, draft.start_deadline_seconds, draft.pause_on_failure) == (3600, 600, 3)
    assert (draft.completion, draft.completion_seconds, draft.heartbeat_seconds) == (Completion.CALLBACK, 2_592_000, 5)
    assert (draft.start_within_seconds, draft.finish_by, draft.on_deadline) == (60, "06:00", OnDeadline.CANCEL)
    assert draft.events == (EventKind.LATE, EventKind.DEATHS)
    assert draft.overlap is Overlap.QUEUE
    assert draft.retry == RetryPolicy(on=("5xx", "429", "Throttling*"), never=("400",), max_age_seconds=7200)


@pytest.mark.parametrize("overlap", list(Overlap))
def test_job_validation_accepts_every_overlap_policy(overlap: Overlap) -> None:
    draft = read(posted(overlap=overlap.value))
    assert (draft.overlap, draft.queue_limit) == (overlap, None)


@pytest.mark.parametrize("limit", [1, 1000])
def test_job_validation_accepts_a_queue_limit(limit: int) -> None:
    draft = read(posted(overlap={"queue": limit}))
    assert (draft.overlap, draft.queue_limit) == (Overlap.QUEUE, limit)


def test_job_validation_job_shows_its_overlap_as_posted() -> None:
    assert job_document(JobView(job(overlap=Overlap.NEWEST), None))["overlap"] == "newest"
    limited = job(overlap=Overlap.QUEUE, queue_limit=10)
    assert job_document(JobView(limited, None))["overlap"] == {"queue": 10}


@pytest.mark.parametrize(
    ("change", "place", "said"),
    [
        ({"estimated_seconds": 0}, "/estimated_seconds", "from 1 to 86400"),
        ({"start_deadline_seconds": 604_801}, "/start_deadline_seconds", "from 1 to 604800"),
        ({"start_within_seconds": 0}, "/start_within_seconds", "from 1 to 604800"),
        ({"finish_by": 0}, "/finish_by", "from 1 to 2592000"),
        ({"finish_by": "24:00"}, "/finish_by", "a time such as 06:00"),
        ({"finish_by": 1.5}, "/finish_by", "must be seconds from 1"),
        ({"on_deadline": "cancel"}, "/on_deadline", "set start_within_seconds or finish_by"),
        ({"finish_by": 60, "on_deadline": "skip"}, "/on_deadline", "must be one of notify, cancel"),
        ({"pause_on_failure": 101}, "/pause_on_failure", "from 1 to 100"),
        ({"completion": "webhook"}, "/completion", "must be one of response, callback, end"),
        ({"then": [{"job": "nightly"}], "id": "nightly"}, "/then/0/job", "is this job itself; name another job"),
        ({"then": [{"job": "report", "on": "late"}]}, "/then/0/on", "must be one of succeeded, dead, any"),
        ({"then": [{"job": "re port"}]}, "/then/0/job", "must"),
        ({"completion": "end"}, "/completion", "use such a target, or use completion: callback"),
        (
            {"completion": "end", "target": {"type": "lambda", "function": "duecourse-target-a", "mode": "async"}},
            "/completion",
            "set qualifier in the target to the version or alias of a durable function",
        ),
        (
            {"target": {"type": "lambda", "function": "duecourse-target-a", "qualifier": "a b"}},
            "/target/qualifier",
            "must be a version such as 3, or an alias",
        ),
        ({"completion_seconds": 60}, "/completion_seconds", "set completion to callback or end"),
        ({"heartbeat_seconds": 60}, "/heartbeat_seconds", "set completion to callback or end"),
        ({"completion": "callback", "completion_seconds": 9}, "/completion_seconds", "from 10 to 2592000"),
        ({"completion": "callback", "completion_seconds": 2_592_001}, "/completion_seconds", "from 10 to 2592000"),
        ({"completion": "callback", "heartbeat_seconds": 4}, "/heartbeat_seconds", "from 5 to 86400"),
        (
            {"completion": "callback", "timeout_seconds": 60, "completion_seconds": 59},
            "/completion_seconds",
            "not be less than timeout_seconds (60)",
        ),
        ({"overlap": "wait"}, "/overlap", 'or {"queue": 10}'),
        ({"overlap": 10}, "/overlap", 'or {"queue": 10}'),
        ({"overlap": None}, "/overlap", 'or {"queue": 10}'),
        ({"overlap": {}}, "/overlap/queue", "how many runs may wait"),
        ({"overlap": {"queue": 0}}, "/overlap/queue", "from 1 to 1000"),
        ({"overlap": {"queue": 1001}}, "/overlap/queue", "from 1 to 1000"),
        ({"overlap": {"queue": "5"}}, "/overlap/queue", "must be a whole number"),
        ({"overlap": {"queue": 5, "newest": 2}}, "/overlap/newest", "the fields are queue"),
        ({"overlap": 3}, "/overlap", 'or {"allow": 3} for at most three active runs'),
        ({"overlap": {"allow": 0}}, "/overlap/allow", "from 1 to 100"),
        ({"overlap": {"allow": 101}}, "/overlap/allow", "from 1 to 100"),
        ({"overlap": {"allow": None}}, "/overlap/allow", "must be a whole number"),
        ({"overlap": {"allow": 3, "queue": 9}}, "/overlap/queue", "the fields are allow"),
        ({"events": "deaths"}, "/events", "must be a list"),
        ({"events": ["deaths", "births"]}, "/events/1", "must be one of deaths, failures, late, deadlines, all"),
        ({"events": ["late", "late"]}, "/events", "contains late more than once"),
        ({"retry": {"on": "5xx"}}, "/retry/on", "must be a list"),
        ({"after_completion": 60}, "/after_completion", "must be an object"),
        ({"after_completion": {}}, "/after_completion/delete_after_seconds", "a number of seconds, or null for never"),
        (
            {"schedule": "at(2026-12-25T09:00:00)", "after_completion": {"delete_after_seconds": 59}},
            "/after_completion/delete_after_seconds",
            "from 60 to 7776000",
        ),
        (
            {"after_completion": {"delete_after_seconds": 60, "delete_after": 60}},
            "/after_completion/delete_after",
            "did you mean delete_after_seconds?",
        ),
        *(
            ({"schedule": schedule, "after_completion": {"delete_after_seconds": 60}}, "/after_completion", said)
            for schedule, said in (
                (None, "requires a schedule that ends"),
                ("* * * * *", "applies only to jobs that end; add end or max_runs"),
                ("rate(1 hour)", "applies only to jobs that end"),
                ("cron(0 9 * * ? *)", "applies only to jobs that end"),
            )
        ),
        ({"retry": {"on": ["5 x"]}}, "/retry/on/0", "a status (503)"),
        ({"retry": {"on": ["x" * 65]}}, "/retry/on/0", "a status (503)"),
        ({"retry": {"never": [""]}}, "/retry/never/0", "a status (503)"),
        ({"retry": {"never": [True]}}, "/retry/never/0", "must be text"),
        ({"retry": {"never": None}}, "/retry/never", "must be a list"),
        ({"retry": {"on": [500, "500"]}}, "/retry/on", "contains 500 more than once"),
        ({"retry": {"on": [str(n) for n in range(21)]}}, "/retry/on", "at most 20 entries"),
        ({"retry": {"max_age_seconds": 0}}, "/retry/max_age_seconds", "from 1 to 2592000"),
    ],
)
def test_job_validation_names_the_bad_policy_field_and_the_remedy(
    change: dict[str, Any], place: str, said: str
) -> None:
    found = errors(posted(**change))
    assert list(found) == [place]
    assert said in found[place]


@pytest.mark.parametrize("field", ["estimated_seconds", "start_deadline_seconds", "pause_on_failure", "task"])
def test_job_validation_treats_null_as_absent(field: str) -> None:
    assert read(posted(**{field: None})) == read(posted())


def test_job_validation_job_without_callback_shows_no_completion_time() -> None:
    document = job_document(JobView(job(), None))
    assert (document["completion"], document["completion_seconds"]) == ("response", None)
    waits = job_document(JobView(job(completion=Completion.CALLBACK, completion_seconds=600), None))
    assert (waits["completion"], waits["completion_seconds"]) == ("callback", 600)


def test_job_validation_job_paused_after_dead_runs_shows_the_reason() -> None:
    because = "3 runs died in a row"
    assert job_document(JobView(job(paused_because=because), None))["paused_because"] == because


ECS = {
    "type": "ecs",
    "cluster": "duecourse-target-c",
    "task_definition": "duecourse-target-t",
    "container": "main",
    "subnets": ["subnet-0123456789abcdef0"],
}

AWS = {"type": "aws", "service": "sqs", "action": "SendMessage", "role": "duecourse-target-sender"}
AWS_PLACE = "/target/parameters"


@pytest.mark.parametrize(
    "payload",
    [
        "{{job_id}}",
        {"a": ["{{ week }}", {"b": "{{attempt}}-{{due_at}}"}], "n": 5, "x": None},
        "{{idempotency_key}}",
        r"a literal \{{ stays",
        {"{{anything}}": "names are no templates"},
    ],
)
def test_job_validation_accepts_templates_in_a_payload(payload: Any) -> None:
    assert read(posted(payload=payload)).payload == payload


@pytest.mark.parametrize(
    ("payload", "place", "said"),
    [
        ("{{weak}}", "/payload", "{{weak}} is unknown"),
        ({"a": ["{{weak}}"]}, "/payload/a/0", "{{weak}} is unknown"),
        ({"a/b": {"~": "x {{"}}, "/payload/a~1b/~0", "no matching pair"),
        ("{{secret:key}}", "/payload", "secret:key"),
        ("{{callback_token}}", "/payload", "needs completion: callback"),
    ],
)
def test_job_validation_names_the_place_of_a_bad_template_in_a_payload(payload: Any, place: str, said: str) -> None:
    found = errors(posted(payload=payload))
    assert list(found) == [place]
    assert said in found[place]


def test_job_validation_reports_all_bad_templates_at_once() -> None:
    found = errors(posted(payload=["{{a}}", "ok", "{{b}}"], target=HTTP_TARGET | {"headers": {"X-A": "{{c}}"}}))
    assert set(found) == {"/payload/0", "/payload/2", "/target/headers"}
    assert "header X-A: {{c}} is unknown" in found["/target/headers"]


def test_job_validation_accepts_secrets_in_headers_and_the_token_of_a_callback() -> None:
    headers = {"Authorization": "Bearer {{secret:api-key}}", "X-Run": "{{run_id}}", "X-Token": "{{callback_token}}"}
    draft = read(
        posted(target=HTTP_TARGET | {"headers": headers}, completion="callback", payload=["{{callback_token}}"])
    )
    assert draft.payload == ["{{callback_token}}"]


@pytest.mark.parametrize(
    "value", ["{{secret:}}", "{{secret:a b}}", "{{secret:" + "x" * 65 + "}}", "{{callback_token}}"]
)
def test_job_validation_rejects_a_bad_template_in_a_header(value: str) -> None:
    assert list(errors(posted(target=HTTP_TARGET | {"headers": {"X-A": value}}))) == ["/target/headers"]


def test_job_validation_rejects_a_payload_too_large_for_an_ecs_task() -> None:
    assert "7000" in errors(posted(target=ECS, payload="x" * 7000))["/payload"]
    assert read(posted(target=ECS, payload="x" * 6000)).payload == "x" * 6000


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"payload": ["{{job_name}}" * 1_200], "name": "n" * 256}, "/payload"),
        ({"target": HTTP_TARGET | {"headers": {"X-A": "{{job_name}}" * 40}}, "name": "n" * 256}, "/target/headers"),
        ({"target": HTTP_TARGET | {"headers": {f"X-{n}": "x" * 4_000 for n in range(9)}}}, "/target/headers"),
        ({"idempotency_key": "{{run_id}}" * 4, "id": "j" * 64}, "/idempotency_key"),
        ({"target": AWS | {"parameters": {"MessageBody": "{{job_name}}" * 1_200}}, "name": "n" * 256}, AWS_PLACE),
    ],
    ids=["payload", "one header", "all headers", "key", "parameters"],
)
def test_job_validation_rejects_fields_that_exceed_the_limit_once_rendered_and_names_the_place(
    changes: dict[str, Any], place: str
) -> None:
    found = errors(posted(**changes))
    assert list(found) == [place]
    assert "at most" in found[place]


def test_job_validation_accepts_fields_that_fit_with_the_longest_values() -> None:
    assert read(posted(payload=["{{job_name}}" * 1_000], name="n" * 256)).payload == ["{{job_name}}" * 1_000]
    assert read(posted(payload=["x" * 200_000])).payload == ["x" * 200_000]
    assert read(posted(idempotency_key="{{run_id}}" * 4, id="short")).idempotency_key == "{{run_id}}" * 4


def test_job_validation_checks_the_rendered_payload_of_a_registered_task_with_the_job_name() -> None:
    assert list(errors(posted(target={"type": "task", "name": "loud"}, name="n" * 256))) == ["/target/name"]
    assert read(posted(target={"type": "task", "name": "loud"}, name="short")).name == "short"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "line 1, column 1"),
        (b"{", "line 1, column 2"),
        (b'{"a": 1,}', "is not JSON"),
        (b"\xff\xfe{}", "not UTF-8 (byte 0)"),
        (b"\xef\xbb\xbf{}", "is not JSON"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
        (b'{"a": 1, "a": 2}', 'contains the name "a" twice'),
        (b"[" * 50_000, "nested too deeply"),
        (b"[" * 50_000 + b"]" * 50_000, "nested too deeply"),
        (b"9" * 5_000, "5000 digits"),
        (b"[1] x", "is not JSON"),
        (b'"a\nb"', "is not JSON"),
    ],
)
def test_job_validation_answers_400_with_the_position_for_invalid_json(raw: bytes, said: str) -> None:
    with pytest.raises(Problem) as refused:
        read_json(raw)
    assert refused.value.status == 400
    assert said in refused.value.detail


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (r'{"a": "\ud800"}', "/a"),
        (r'{"a": [1, "x\udfff"]}', "/a/1"),
        (r'{"a": {"\ud800": 1}}', "/a"),
        ('{"a": 18446744073709551616}', "/a"),
        ('{"a": -9223372036854775809}', "/a"),
        ('{"a/b~c": 1e999}', "/a~1b~0c"),
        # How many levels the parser itself refuses depends on the version of Python.
        ('{"a":' * 500 + "1" + "}" * 500, "/a" * (MAX_DEPTH + 1)),
        ("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2), "/0" * (MAX_DEPTH + 1)),
    ],
)
def test_job_validation_reports_the_place_of_json_that_cannot_be_passed_on(text: str, place: str) -> None:
    assert [fault.pointer for fault in list(unfit(read_json(text.encode())))] == [place]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 18446744073709551615, "b": -9223372036854775808}',
        r'"\ud83d\ude00 and \u0000"',
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        "1e308",
        "true",
    ],
)
def test_job_validation_accepts_json_that_can_be_stored(text: str) -> None:
    assert list(unfit(read_json(text.encode()))) == []


def test_job_validation_reads_a_surrogate_pair_as_one_character() -> None:
    assert read_json(rb'"\ud83d\ude00"') == "\N{GRINNING FACE}"


def test_job_validation_writes_plain_ascii_even_for_an_unpaired_surrogate() -> None:
    assert write_json({"a": "\ud800ä"}) == r'{"a":"\ud800\u00e4"}'


@given(st.binary(max_size=200))
def test_job_validation_reads_or_rejects_any_bytes(raw: bytes) -> None:
    with suppress(Problem):
        list(unfit(read_json(raw)))


numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)  # fmt: skip


@given(values)
def test_job_validation_json_round_trips_unchanged(value: object) -> None:
    assert read_json(json.dumps(value, ensure_ascii=False).encode()) == value
