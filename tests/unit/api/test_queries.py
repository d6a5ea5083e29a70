"""Queries, and answers about runs.

- The models of query parameters: each route reads what its own document describes.
- Runs as they are answered.
"""

import pytest

from duecourse.api.answers import run_document
from duecourse.api.api import Route
from duecourse.api.problems import Problem
from duecourse.api.query import PageQuery, Query
from duecourse.api.request import Request
from duecourse.api.routes.runs import RunsOfJobQuery
from duecourse.api.routes.table import ROUTES
from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.states import RunState
from duecourse.domain.runs.transitions import queued
from tests.support.jobs import NOON
from tests.support.varied import record, varied

ASKED = [(route, route.query) for route in ROUTES if route.query is not None]
EACH = pytest.mark.parametrize(("route", "query"), ASKED, ids=[route.handler.__name__ for route, _ in ASKED])


def refusal(query: type[Query], **given: str) -> str:
    with pytest.raises(Problem) as refused:
        query.of(Request("r", query=given))
    return refused.value.detail


def examples(query: type[Query]) -> dict[str, str]:
    return {name: str(known.example) for name, (known, _) in query.parameters().items()}


@EACH
def test_queries_accept_the_example_of_each_parameter(route: Route, query: type[Query]) -> None:
    given = examples(query)
    assert query.of(Request("r", query=given)).model_fields_set == set(query.model_fields), route.path


@EACH
def test_queries_may_omit_optional_parameters(route: Route, query: type[Query]) -> None:
    needed = {name: str(known.example) for name, (known, required) in query.parameters().items() if required}
    assert query.of(Request("r", query=needed)) == query.model_validate(needed), route.path


@EACH
def test_queries_have_the_documented_defaults(route: Route, query: type[Query]) -> None:
    defaults = {field.alias or name: field.default for name, field in query.model_fields.items()}
    named = {
        name: known.schema["default"] for name, (known, _) in query.parameters().items() if "default" in known.schema
    }
    assert {name: defaults[name] for name in named} == named, route.path


@EACH
def test_queries_reject_an_unknown_parameter_and_list_the_known_ones(route: Route, query: type[Query]) -> None:
    detail = refusal(query, **examples(query), limt="3")
    assert "limt is not known" in detail, route.path
    assert all(name in detail for name in query.parameters())


def test_queries_without_parameters_report_that_the_route_has_none() -> None:
    assert "this route has no parameters" in refusal(Query, tenant="acme")


def test_queries_reject_a_bad_parameter_with_the_reason() -> None:
    assert "must be a whole number from 1 to 100" in refusal(PageQuery, limit="101")


@EACH
def test_queries_need_no_parameter(route: Route, query: type[Query]) -> None:
    """The clients have only optional parameters, because each has a default."""
    assert not any(required for _, required in query.parameters().values()), route.path


def test_queries_name_instant_parameters_as_in_the_request_when_they_conflict() -> None:
    instant = "2026-11-21T00:00:00Z"
    assert "parameter to must be later than from" in refusal(RunsOfJobQuery, **{"from": instant, "to": instant})


RUN = record(
    RunState.RUNNING,
    RunIdentity("default", "nightly", int(NOON), int(NOON), 5),
    Lane.NORMAL,
    attempt=1,
    fencing_token="secret-token",
)


def test_queries_waiting_run_shows_its_deadlines_and_requested_cancellation() -> None:
    waits = varied(
        RUN,
        state=RunState.WAITING,
        waiting_until=NOON + 600.25,
        heartbeat_until=NOON + 60,
        cancel_requested="asked for over the API",
        callback_hash="hash-of-the-token",
    )
    document = run_document(waits)
    assert document["state"] == "WAITING"
    assert document["waiting_until"] == "2026-11-21T12:10:00.250Z"
    assert document["heartbeat_until"] == "2026-11-21T12:01:00.000Z"
    assert document["cancel_requested"] == "asked for over the API"


def test_queries_queued_run_shows_the_reason_and_the_start_of_its_wait() -> None:
    document = run_document(queued(RUN, NOON + 1.5))
    assert (document["state"], document["attempts"], document["started_at"]) == ("QUEUED", 0, None)
    assert (document["waiting_for"], document["waiting_since"]) == ("overlap", "2026-11-21T12:00:01.500Z")


def test_queries_failed_run_shows_its_error_code() -> None:
    dead = run_document(varied(RUN, state=RunState.DEAD, error="it answered 503", code="http.503"))
    assert (dead["error"], dead["code"]) == ("it answered 503", "http.503")


def test_queries_run_shows_a_small_result_and_the_size_of_a_large_one() -> None:
    small = run_document(varied(RUN, state=RunState.SUCCEEDED, result={"status": 200}))
    assert (small["result"], small["result_bytes"]) == ({"status": 200}, None)
    large = run_document(varied(RUN, state=RunState.SUCCEEDED, result_key="results/x.json", result_bytes=70_000))
    assert (large["result"], large["result_bytes"]) == (None, 70_000)


def test_queries_run_never_shows_its_fencing_values() -> None:
    shown = str(run_document(varied(RUN, callback_hash="hash-of-the-token", nonce="its-nonce", message_id="its-id")))
    assert not any(word in shown for word in ("secret-token", "hash-of-the-token", "its-nonce", "its-id"))
