"""Payloads with their values, and events about runs.

- What templates become in a call, and how large that may be.
- What the event bus is told of, and what of it.
"""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.jobs.job import EventKind, MissedPolicy
from duecourse.domain.runs.callbacks import CallbackToken
from duecourse.domain.runs.document import detail_of
from duecourse.domain.runs.notices import notifications_of
from duecourse.domain.runs.rendering import (
    MAX_BODY_BYTES,
    MAX_HEADER_BYTES,
    MAX_HEADERS_BYTES,
    MAX_KEY_CHARACTERS,
    TemplateTooLargeError,
    check_concurrency_key,
    check_document_size,
    concurrency_key,
    idempotency_key,
    longest_values,
    render_document,
    render_headers,
    values_for,
)
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.targets.template import CALL_NAMES, CALLBACK_NAMES, TEMPLATE_NAMES, TemplateError, check_template
from tests.support.calls import a_job, a_run
from tests.support.jobs import job
from tests.support.start_requests import DUE, run
from tests.support.varied import varied


@pytest.mark.parametrize("name", TEMPLATE_NAMES)
def test_payloads_and_events_every_known_template_name_is_allowed_and_has_a_value(name):
    assert check_template(f"{{{{{name}}}}}") == ()
    assert values_for(a_run(), a_job())[name]


def test_payloads_and_events_every_value_has_a_template_name():
    assert set(values_for(a_run(), a_job())) == set(TEMPLATE_NAMES)


def test_payloads_and_events_every_string_of_a_document_except_keys_is_a_template():
    document = {"{{week}}": ["{{week}}", 1, None, {"deep": ("{{week}}!", True)}], "n": 1.5}
    rendered = {"{{week}}": ["w", 1, None, {"deep": ["w!", True]}], "n": 1.5}
    assert render_document(document, {"week": "w"}) == rendered


def test_payloads_and_events_rendering_does_not_modify_the_document():
    document = {"a": ["{{week}}"]}
    render_document(document, {"week": "w"})
    assert document == {"a": ["{{week}}"]}


def test_payloads_and_events_job_without_a_name_uses_its_id():
    assert values_for(a_run(), a_job())["job_name"] == "nightly"
    assert values_for(a_run(), a_job(name="Nightly report"))["job_name"] == "Nightly report"


def test_payloads_and_events_due_instant_includes_jitter_and_scheduled_instant_does_not():
    run = a_run()
    values = values_for(varied(run, due=run.occurrence + 90), a_job())
    assert (values["scheduled_at"], values["due_at"]) == ("2026-11-21T06:47:00Z", "2026-11-21T06:48:30Z")


def test_payloads_and_events_instants_use_utc_and_calendar_dates_use_the_zone_of_the_job():
    run = a_run(occurrence="20270103T233000Z")  # a Sunday evening in UTC, Monday in Tokyo
    values = values_for(run, a_job(timezone="Asia/Tokyo"))
    assert values["scheduled_at"] == "2027-01-03T23:30:00Z"
    assert values["occurrence"] == "20270103T233000Z"
    assert values["run_id"] == "nightly.20270103T233000Z"
    assert (values["date"], values["week"], values["month"]) == ("2027-01-04", "2027-W01", "2027-01")
    assert values_for(run, a_job())["date"] == "2027-01-03"


def test_payloads_and_events_week_has_its_own_year():
    values = values_for(a_run(occurrence="20270103T120000Z"), a_job())
    assert (values["week"], values["month"]) == ("2026-W53", "2027-01")


def test_payloads_and_events_idempotency_key_is_tenant_and_run_id_unless_the_job_has_a_template():
    assert idempotency_key(a_run(), a_job()) == "acme/nightly.20261121T064700Z"
    assert idempotency_key(a_run(), a_job(idempotency_key="report-{{week}}")) == "report-2026-W47"


def test_payloads_and_events_idempotency_key_is_the_same_for_every_attempt():
    job = a_job(idempotency_key="{{tenant}}-{{run_id}}")
    assert idempotency_key(a_run(attempt=1), job) == idempotency_key(a_run(attempt=3), job)


def test_payloads_and_events_stored_idempotency_key_of_a_run_is_kept():
    run = a_run(attempt=2, idempotency_key="report-2026-W47")
    assert idempotency_key(run, a_job(idempotency_key="other-{{week}}")) == "report-2026-W47"
    assert idempotency_key(run, a_job()) == "report-2026-W47"


def test_payloads_and_events_run_without_a_stored_idempotency_key_uses_the_template_of_its_job():
    job = a_job(idempotency_key="report-{{week}}")
    begun = a_run(attempt=2, first_started_at=job.updated_at - 1)
    assert idempotency_key(begun, job) == "report-2026-W47"
    assert idempotency_key(begun, a_job()) == "acme/nightly.20261121T064700Z"


NAMED = {"job_name": "n" * 256, "week": "2026-W47"}


def test_payloads_and_events_too_large_document_is_rejected_before_it_is_rendered():
    document = ["{{job_name}}" * 16_000]  # 190 KB make 4 MB
    tracemalloc.start()
    try:
        with pytest.raises(
            TemplateTooLargeError, match=f"4096004 bytes as JSON .* at most {MAX_BODY_BYTES} are allowed"
        ):
            render_document(document, NAMED)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000


def test_payloads_and_events_size_limit_is_exact_to_the_byte_of_the_json_text():
    name = '"é"'  # six bytes as JSON, without its own quotes
    room = MAX_BODY_BYTES - len('["",""]') - 6
    assert render_document(["{{job_name}}", "x" * room], {"job_name": name})
    with pytest.raises(TemplateTooLargeError):
        render_document(["{{job_name}}", "x" * (room + 1)], {"job_name": name})


def test_payloads_and_events_size_limit_applies_to_the_sum_of_many_small_strings():
    document = {f"n{number}": "{{job_name}}" for number in range(1_100)}
    with pytest.raises(TemplateTooLargeError):
        render_document(document, NAMED)
    render_document(dict.fromkeys(document, "{{week}}"), NAMED)


def test_payloads_and_events_document_without_templates_is_rendered_without_a_size_check():
    text = "x" * (MAX_BODY_BYTES + 1)
    assert render_document([text], NAMED) == [text]


@given(st.lists(st.sampled_from(["{{a}}", "{{ b }}", "é", '"', "\\ ", "\\{{", "x"]), max_size=12).map("".join))
def test_payloads_and_events_computed_document_size_is_never_below_the_actual_size(text):
    values = {"a": '"\\é', "b": ""}
    exact = len(json.dumps(render_document([text], values), ensure_ascii=False).encode())
    padding = "x" * (MAX_BODY_BYTES - exact + 1)
    if "{{" in text:
        with pytest.raises(TemplateTooLargeError):
            check_document_size([text + padding], values)


def test_payloads_and_events_headers_are_limited_individually_and_together():
    most = MAX_HEADER_BYTES - len("X-A")
    assert render_headers([("X-A", "{{name}}")], {"name": "x" * most}, {})[0][1] == "x" * most
    with pytest.raises(TemplateTooLargeError, match="in header X-A"):
        render_headers([("X-A", "{{name}}")], {"name": "x" * (most + 1)}, {})
    five = [(f"X-{number}", "{{name}}") for number in range(5)]
    with pytest.raises(TemplateTooLargeError, match=f"headers together .* at most {MAX_HEADERS_BYTES} "):
        render_headers(five, {"name": "x" * 7_000}, {})


def test_payloads_and_events_secret_counts_towards_its_header_size_and_is_not_shown():
    with pytest.raises(TemplateTooLargeError, match="in header Authorization") as raised:
        render_headers([("Authorization", "Bearer {{ secret:key }}")], {}, {"key": "s3cr3t" * 2_000})
    assert "s3cr3t" not in str(raised.value)


def test_payloads_and_events_invalid_template_in_a_header_is_reported_with_its_header():
    with pytest.raises(TemplateError, match=r"header X-A: \{\{weak\}\} is unknown"):
        render_headers([("X-A", "{{weak}}")], {}, {})


def test_payloads_and_events_idempotency_key_is_limited():
    run = a_run(job_id="j" * 64)  # its name has 81 characters
    assert len(idempotency_key(run, a_job(idempotency_key="{{run_id}}" * 3 + "x" * 12))) == MAX_KEY_CHARACTERS
    with pytest.raises(TemplateTooLargeError, match="256 characters in the idempotency key"):
        idempotency_key(run, a_job(idempotency_key="{{run_id}}" * 3 + "x" * 13))


def test_payloads_and_events_longest_values_cover_all_names_of_a_call_and_are_never_exceeded():
    longest = longest_values("acme", "nightly", "", None, callback=True)
    assert set(longest) == set(CALLBACK_NAMES)
    assert set(longest_values("acme", "nightly", "", None, callback=False)) == set(CALL_NAMES)
    run = a_run(attempt=9_999, suffix=".m3kQabcde")
    token = str(CallbackToken("acme", 9_999, "x" * 32))
    real = values_for(run, a_job()) | {"idempotency_key": idempotency_key(run, a_job()), "callback_token": token}
    assert all(len(value) <= len(longest[name]) for name, value in real.items())


DEATHS, FAILURES, LATE, ALL = EventKind.DEATHS, EventKind.FAILURES, EventKind.LATE, EventKind.ALL
GRACE = 60


def told(record: Run, *events: EventKind) -> tuple[str, ...]:
    return tuple(notifications_of(record, job(events=events, missed=MissedPolicy(grace_seconds=GRACE))).events)


def late(state: RunState = RunState.SUCCEEDED, by: float = GRACE + 1.0, attempt: int = 1) -> Run:
    return run(state, first_started_at=DUE + by, attempt=attempt)


@pytest.mark.parametrize("state", list(RunState))
def test_payloads_and_events_job_without_subscriptions_gets_no_events(state: RunState) -> None:
    assert told(late(state)) == ()


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (RunState.DEAD, "Run Dead"),
        (RunState.RETRYING, "Attempt Failed"),
        (RunState.SUCCEEDED, "Run Succeeded"),
        (RunState.CANCELLED, "Run Cancelled"),
        (RunState.SKIPPED, "Run Skipped"),
    ],
)
def test_payloads_and_events_events_of_all_kinds_cover_every_outcome(state: RunState, kind: str) -> None:
    assert told(run(state), ALL) == (kind,)
    assert told(run(state), DEATHS, ALL) == (kind,)


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING, RunState.WAITING])
def test_payloads_and_events_run_without_an_outcome_gets_no_event(state: RunState) -> None:
    assert told(late(state), ALL) == ()


@pytest.mark.parametrize("kind", [DEATHS, FAILURES])
def test_payloads_and_events_dead_run_is_published_for_deaths_and_for_failures(kind: EventKind) -> None:
    assert told(run(RunState.DEAD), kind) == ("Run Dead",)
    assert told(run(RunState.DEAD), LATE) == ()


def test_payloads_and_events_failed_attempt_is_published_for_failures_only() -> None:
    assert told(run(RunState.RETRYING), FAILURES) == ("Attempt Failed",)
    assert told(run(RunState.RETRYING), DEATHS, LATE) == ()


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.CANCELLED, RunState.SKIPPED])
def test_payloads_and_events_outcome_without_failure_or_lateness_is_published_for_all_only(state: RunState) -> None:
    assert told(run(state), DEATHS, FAILURES, LATE) == ()


@pytest.mark.parametrize("reason", ["missed", "superseded", "start_deadline"])
def test_payloads_and_events_run_skipped_for_lateness_is_published_for_late_runs(reason: str) -> None:
    skipped = run(RunState.SKIPPED, reason=reason, first_started_at=None)
    assert told(skipped, LATE) == ("Run Skipped",)
    assert told(skipped, DEATHS, FAILURES) == ()


@pytest.mark.parametrize("reason", [None, "overlap", "paused", "deleted", "replaced"])
def test_payloads_and_events_run_skipped_for_other_reasons_is_not_published_for_late_runs(reason: str | None) -> None:
    assert told(run(RunState.SKIPPED, reason=reason, first_started_at=None), LATE) == ()


@pytest.mark.parametrize(
    ("state", "kinds"),
    [
        (RunState.SUCCEEDED, ("Run Succeeded", "Run Late")),
        (RunState.RETRYING, ("Attempt Failed", "Run Late")),
        (RunState.DEAD, ("Run Dead", "Run Late")),
        (RunState.CANCELLED, ("Run Cancelled", "Run Late")),
    ],
)
def test_payloads_and_events_run_started_after_its_grace_period_is_published_as_late_besides_its_outcome(
    state: RunState, kinds: tuple[str, ...]
) -> None:
    assert told(late(state), LATE) == ("Run Late",)
    assert told(late(state), ALL) == kinds


def test_payloads_and_events_run_started_within_its_grace_period_is_not_late() -> None:
    assert told(late(by=float(GRACE)), LATE) == ()
    assert told(late(by=GRACE + 0.001), LATE) == ("Run Late",)


def test_payloads_and_events_late_run_is_published_for_its_first_attempt_only() -> None:
    assert told(late(attempt=2), LATE) == ()


def test_payloads_and_events_late_run_is_published_for_late_runs_only() -> None:
    assert told(late(), DEATHS, FAILURES) == ()


# What it says.


def test_payloads_and_events_event_contains_all_details_and_is_json() -> None:
    record = run(
        RunState.DEAD, attempt=4, reason="lost", error="gone", code="lost", first_started_at=DUE + 0.12345, count=3
    )
    detail = detail_of(record, "Run Dead")
    assert detail == {
        "event": "default/tick-tock.20261121T120100Z/4/Run Dead",
        "tenant": "default",
        "job_id": "tick-tock",
        "run_id": "tick-tock.20261121T120100Z",
        "state": "DEAD",
        "reason": "lost",
        "attempt": 4,
        "occurrence": "2026-11-21T12:01:00Z",
        "due": "2026-11-21T12:01:00Z",
        "lateness_seconds": 0.123,
        "error": "gone",
        "code": "lost",
        "count": 3,
    }
    assert json.loads(json.dumps(detail)) == detail


def test_payloads_and_events_event_contains_the_due_time_with_jitter_besides_the_occurrence() -> None:
    assert detail_of(run(due=DUE + 5), "Run Late")["due"] == "2026-11-21T12:01:05Z"
    assert detail_of(run(due=DUE + 5), "Run Late")["occurrence"] == "2026-11-21T12:01:00Z"


def test_payloads_and_events_event_of_a_run_that_never_started_has_no_lateness() -> None:
    assert detail_of(run(RunState.SKIPPED, attempt=0), "Run Skipped")["lateness_seconds"] is None


def test_payloads_and_events_event_id_is_unique_for_each_outcome_and_attempt_and_stable_for_a_repeat() -> None:
    events = [detail_of(run(attempt=attempt), kind)["event"] for kind in ("Run Dead", "Run Late") for attempt in (1, 2)]
    assert len(set(events)) == len(events)
    assert detail_of(run(fencing_token="another"), "Run Dead")["event"] == detail_of(run(), "Run Dead")["event"]


@pytest.mark.parametrize(
    ("template", "key"),
    [
        ("crm", "crm"),
        ("crm-{{payload.region}}", "crm-eu"),
        ("{{ payload.to.id }}/{{job_id}}", "7_nightly"),
        ("{{payload.wild}}", "a_b___c_"),
        ("{{payload.braces}}", "__job_id__"),
    ],
)
def test_payloads_and_events_concurrency_key_contains_values_of_the_payload(template, key):
    payload = {"region": "eu", "to": {"id": 7}, "wild": "a b#/ c\u00e9", "braces": "{{job_id}}"}
    assert check_concurrency_key(template) == ()
    assert concurrency_key(template, "nightly", payload) == key


@pytest.mark.parametrize("payload", [None, [], {"a": None}, {"a": ""}, {"a": True}, {"a": {"b": 1}}, {"b": 1}])
def test_payloads_and_events_concurrency_key_without_a_value_fails(payload):
    with pytest.raises(TemplateError, match="the payload has no string or number at a"):
        concurrency_key("{{payload.a}}", "nightly", payload)


def test_payloads_and_events_concurrency_key_is_limited_after_its_values():
    with pytest.raises(TemplateTooLargeError, match="129 characters in the key"):
        concurrency_key("{{payload.a}}", "nightly", {"a": "x" * 129})


@pytest.mark.parametrize("template", ["{{week}}", "{{payload}}", "{{payload.a b}}", "{{", "{{payload.a..b}}"])
def test_payloads_and_events_template_of_a_concurrency_key_is_checked(template):
    assert check_concurrency_key(template)
