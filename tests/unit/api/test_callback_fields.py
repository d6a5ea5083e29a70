"""The fields that say how long a run may take, how it ends, and what failures mean."""

from __future__ import annotations

from typing import Any

import pytest

from duecourse.api.answers import job_document
from duecourse.domain.jobs.job import Completion, EventKind, Overlap, RetryPolicy
from duecourse.usecases.jobs.view import JobView
from tests.support.jobs import job
from tests.support.posting import errors, posted, read


def test_a_callback_waits_a_day_unless_the_job_says_otherwise() -> None:
    draft = read(posted(completion="callback"))
    assert (draft.completion, draft.completion_seconds, draft.heartbeat_seconds) == (Completion.CALLBACK, 86_400, None)


def test_every_new_field_is_taken_over() -> None:
    draft = read(
        posted(
            estimated_seconds=3600,
            start_deadline_seconds=600,
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
    assert draft.events == (EventKind.LATE, EventKind.DEATHS)
    assert draft.overlap is Overlap.QUEUE
    assert draft.retry == RetryPolicy(on=("5xx", "429", "Throttling*"), never=("400",), max_age_seconds=7200)


@pytest.mark.parametrize("overlap", list(Overlap))
def test_every_overlap_is_known(overlap: Overlap) -> None:
    draft = read(posted(overlap=overlap.value))
    assert (draft.overlap, draft.queue_limit) == (overlap, None)


@pytest.mark.parametrize("limit", [1, 1000])
def test_a_queue_may_have_a_length_at_most(limit: int) -> None:
    draft = read(posted(overlap={"queue": limit}))
    assert (draft.overlap, draft.queue_limit) == (Overlap.QUEUE, limit)


def test_a_job_shows_its_overlap_as_it_was_posted() -> None:
    assert job_document(JobView(job(overlap=Overlap.NEWEST), None))["overlap"] == "newest"
    limited = job(overlap=Overlap.QUEUE, queue_limit=10)
    assert job_document(JobView(limited, None))["overlap"] == {"queue": 10}


@pytest.mark.parametrize(
    ("change", "place", "said"),
    [
        ({"estimated_seconds": 0}, "/estimated_seconds", "from 1 to 86400"),
        ({"start_deadline_seconds": 604_801}, "/start_deadline_seconds", "from 1 to 604800"),
        ({"pause_on_failure": 101}, "/pause_on_failure", "from 1 to 100"),
        ({"completion": "webhook"}, "/completion", "must be one of response, callback"),
        ({"completion_seconds": 60}, "/completion_seconds", "add completion: callback"),
        ({"heartbeat_seconds": 60}, "/heartbeat_seconds", "add completion: callback"),
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
        ({"events": "deaths"}, "/events", "must be a list"),
        ({"events": ["deaths", "births"]}, "/events/1", "must be one of deaths, failures, late, all"),
        ({"events": ["late", "late"]}, "/events", "names late more than once"),
        ({"retry": {"on": "5xx"}}, "/retry/on", "must be a list"),
        ({"retry": {"on": ["5 x"]}}, "/retry/on/0", "a status (503)"),
        ({"retry": {"on": ["x" * 65]}}, "/retry/on/0", "a status (503)"),
        ({"retry": {"never": [""]}}, "/retry/never/0", "a status (503)"),
        ({"retry": {"never": [True]}}, "/retry/never/0", "must be text"),
        ({"retry": {"never": None}}, "/retry/never", "must be a list"),
        ({"retry": {"on": [500, "500"]}}, "/retry/on", "names 500 more than once"),
        ({"retry": {"on": [str(n) for n in range(21)]}}, "/retry/on", "at most 20 entries"),
        ({"retry": {"max_age_seconds": 0}}, "/retry/max_age_seconds", "from 1 to 2592000"),
    ],
)
def test_a_bad_field_is_named_with_the_remedy(change: dict[str, Any], place: str, said: str) -> None:
    found = errors(posted(**change))
    assert list(found) == [place]
    assert said in found[place]


@pytest.mark.parametrize("field", ["estimated_seconds", "start_deadline_seconds", "pause_on_failure", "task"])
def test_null_means_none(field: str) -> None:
    assert read(posted(**{field: None})) == read(posted())


def test_a_job_that_waits_for_no_callback_shows_no_time_for_one() -> None:
    document = job_document(JobView(job(), None))
    assert (document["completion"], document["completion_seconds"]) == ("response", None)
    waits = job_document(JobView(job(completion=Completion.CALLBACK, completion_seconds=600), None))
    assert (waits["completion"], waits["completion_seconds"]) == ("callback", 600)


def test_a_job_that_was_paused_for_its_deaths_says_so() -> None:
    because = "3 runs died in a row"
    assert job_document(JobView(job(paused_because=because), None))["paused_because"] == because
