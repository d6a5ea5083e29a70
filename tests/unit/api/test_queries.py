"""The models of query parameters: each route reads what its own document describes."""

from __future__ import annotations

import pytest

from duecourse.api.api import Route
from duecourse.api.problems import Problem
from duecourse.api.query import PageQuery, Query
from duecourse.api.request import Request
from duecourse.api.routes.runs import ExplainQuery, RunsOfJobQuery
from duecourse.api.routes.table import ROUTES

ASKED = [(route, route.query) for route in ROUTES if route.query is not None]
EACH = pytest.mark.parametrize(("route", "query"), ASKED, ids=[route.handler.__name__ for route, _ in ASKED])


def refusal(query: type[Query], **given: str) -> str:
    with pytest.raises(Problem) as refused:
        query.of(Request("r", query=given))
    return refused.value.detail


def examples(query: type[Query]) -> dict[str, str]:
    return {name: str(known.example) for name, (known, _) in query.parameters().items()}


@EACH
def test_queries_read_the_example_of_each_parameter(route: Route, query: type[Query]) -> None:
    given = examples(query)
    read = query.of(Request("r", query=given))

    assert read.model_fields_set == set(query.model_fields), route.path


@EACH
def test_queries_may_leave_out_what_is_not_required(route: Route, query: type[Query]) -> None:
    needed = {name: str(known.example) for name, (known, required) in query.parameters().items() if required}

    assert query.of(Request("r", query=needed)) == query.model_validate(needed), route.path


@EACH
def test_queries_have_the_defaults_that_their_document_names(route: Route, query: type[Query]) -> None:
    defaults = {field.alias or name: field.default for name, field in query.model_fields.items()}
    named = {
        name: known.schema["default"] for name, (known, _) in query.parameters().items() if "default" in known.schema
    }

    assert {name: defaults[name] for name in named} == named, route.path


@EACH
def test_queries_refuse_a_parameter_that_they_do_not_know_and_name_those_they_do(
    route: Route, query: type[Query]
) -> None:
    detail = refusal(query, **examples(query), limt="3")

    assert "limt is not known here" in detail, route.path
    assert all(name in detail for name in query.parameters())


def test_queries_of_no_parameters_say_so() -> None:
    assert "there are no parameters" in refusal(Query, tenant="acme")


def test_queries_refuse_a_parameter_with_the_reason() -> None:
    assert "must be a whole number from 1 to 100" in refusal(PageQuery, limit="101")


def test_queries_name_a_parameter_that_is_missing() -> None:
    assert "parameter at is missing; name an instant" in refusal(ExplainQuery)


def test_queries_compare_instants_by_the_names_in_the_request() -> None:
    instant = "2026-11-21T00:00:00Z"

    assert "parameter to must be later than from" in refusal(RunsOfJobQuery, **{"from": instant, "to": instant})
