"""Names of steps: two workflows have steps of the same names, each with its own job; jobs are shared explicitly."""

from collections.abc import Iterator
from typing import Any

import pytest

from duecourse.client import ConflictError, InvalidError
from duecourse.testing import Scheduler

TARGET = {"type": "http", "url": "https://example.com/etl"}
ROWS = {"rows": "{{upstream.extract.result.body.rows}}"}
ETL: Any = {
    "schedule": "0 2 * * *",
    "jobs": {
        "extract": {"job": {"target": TARGET, "retry": {"max_attempts": 1}}},
        "load": {"after": ["extract"], "job": {"target": TARGET, "payload": ROWS}},
    },
}


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    with Scheduler(now="2026-03-01T00:00:00Z") as running:
        yield running


def states(scheduler: Scheduler, run_id: str) -> dict[str, tuple[str, str | None]]:
    workflow, _, instant = run_id.partition(".")
    return {each.id: (each.state, each.run) for each in scheduler.client.get_workflow_run(workflow, instant).jobs}


def test_two_workflows_have_their_own_jobs_under_the_same_names(scheduler: Scheduler) -> None:
    assert scheduler.client.put_workflow("eu", ETL).created == ("eu--extract", "eu--load", "eu")
    assert scheduler.client.put_workflow("us", ETL).created == ("us--extract", "us--load", "us")
    scheduler.answer("eu--extract", body={"rows": 7})
    scheduler.answer("us--extract", body={"rows": 8})
    calls = {call.job_id: call.payload for call in scheduler.advance(hours=3)}
    assert (calls["eu--load"], calls["us--load"]) == ({"rows": 7}, {"rows": 8})
    assert states(scheduler, "eu.20260301T020000Z") == {
        "extract": ("SUCCEEDED", "eu--extract.20260301T020000Z"),
        "load": ("SUCCEEDED", "eu--load.20260301T020000Z"),
    }


def test_a_stored_workflow_is_a_valid_body_and_its_repeated_put_changes_nothing(scheduler: Scheduler) -> None:
    scheduler.client.put_workflow("eu", ETL)
    found = scheduler.client.get_workflow("eu")
    assert {name: step.job_id for name, step in found.jobs.items()} == {"extract": "eu--extract", "load": "eu--load"}
    for body in (ETL, {"schedule": found.schedule, "jobs": found.document["jobs"]}):
        again = scheduler.client.put_workflow("eu", body)
        assert (again.created, again.changed) == ((), ())


def test_a_failure_is_named_by_its_step_and_rerun_by_it(scheduler: Scheduler) -> None:
    scheduler.client.put_workflow("eu", ETL)
    scheduler.answer("eu--extract", status=500, times=1)
    scheduler.answer("eu--extract", body={"rows": 7})
    scheduler.advance(hours=3)
    (run,) = scheduler.client.list_runs("eu").items
    assert run.error is not None
    assert run.error.startswith("failed: extract (http.500)")
    again = scheduler.client.rerun(run.id, ["extract"])
    scheduler.advance(minutes=5)
    assert {state for state, _ in states(scheduler, again.id).values()} == {"SUCCEEDED"}


def test_an_existing_job_is_shared_by_its_id_and_belongs_to_one_workflow(scheduler: Scheduler) -> None:
    scheduler.client.create_job({"id": "common", "schedule": None, "target": TARGET})
    jobs: Any = {"extract": {"job_id": "common"}, "load": ETL["jobs"]["load"]}
    assert scheduler.client.put_workflow("eu", ETL | {"jobs": jobs}).created == ("eu--load", "eu")
    scheduler.answer("common", body={"rows": 3})
    assert [call.payload for call in scheduler.advance(hours=3) if call.job_id == "eu--load"] == [{"rows": 3}]
    with pytest.raises(ConflictError) as refused:
        scheduler.client.put_workflow("us", ETL | {"jobs": jobs})
    assert [fault.where for fault in refused.value.faults] == ["jobs/extract"]


def test_two_steps_cannot_have_the_same_job(scheduler: Scheduler) -> None:
    jobs: Any = {"a": {"job_id": "x", "job": {"target": TARGET}}, "b": {"job_id": "x", "job": {"target": TARGET}}}
    with pytest.raises(InvalidError, match="has the same job as a"):
        scheduler.client.put_workflow("eu", ETL | {"jobs": jobs})


def test_the_payload_of_a_step_is_checked_with_the_names_of_its_workflow(scheduler: Scheduler) -> None:
    scheduler.client.put_workflow("eu", ETL)
    scheduler.client.patch_job("eu--load", {"payload": {"all": "{{upstream.extract.result}}"}})
    with pytest.raises(InvalidError, match=r"upstream\.load is not an upstream step of extract"):
        scheduler.client.patch_job("eu--extract", {"payload": {"all": "{{upstream.load.result}}"}})


def test_a_step_is_explained_by_the_run_of_its_workflow(scheduler: Scheduler) -> None:
    scheduler.client.put_workflow("eu", ETL)
    scheduler.answer("eu--extract", status=500)
    scheduler.advance(hours=3)
    found = scheduler.client.explain_job("eu--load", at="2026-03-01T02:00:00Z")
    assert "upstream_failed" in str(found.document)


def test_a_job_with_a_schedule_is_not_replaced_by_a_step_and_nothing_is_written(scheduler: Scheduler) -> None:
    scheduler.client.create_job({"id": "eu--load", "schedule": "0 5 * * *", "target": TARGET})
    with pytest.raises(ConflictError, match="set the schedule to null first") as refused:
        scheduler.client.put_workflow("eu", ETL)
    assert [fault.where for fault in refused.value.faults] == ["jobs/load"]
    assert [job.id for job in scheduler.client.list_jobs().items] == ["eu--load"]


def test_two_workflows_whose_steps_would_have_the_same_job_are_not_mixed(scheduler: Scheduler) -> None:
    jobs: Any = {"job": {"target": TARGET}}
    scheduler.client.put_workflow("a--b", {"schedule": None, "jobs": {"c": jobs}})
    before = scheduler.client.get_job("a--b--c").document
    with pytest.raises(ConflictError, match="is a step of workflow a--b") as refused:
        scheduler.client.put_workflow("a", {"schedule": None, "jobs": {"x": jobs, "b--c": jobs}})
    assert [fault.where for fault in refused.value.faults] == ["jobs/b--c"]
    assert scheduler.client.get_job("a--b--c").document == before
    assert {job.id for job in scheduler.client.list_jobs().items} == {"a--b", "a--b--c"}


def test_the_id_of_a_step_is_checked_together_with_that_of_its_workflow(scheduler: Scheduler) -> None:
    jobs: Any = {"x" * 31: {"job": {"target": TARGET}}}
    assert (
        scheduler.client.put_workflow("w" * 31, {"schedule": None, "jobs": jobs}).created[0]
        == f"{'w' * 31}--{'x' * 31}"
    )
    with pytest.raises(InvalidError, match="shorten it, or set job_id"):
        scheduler.client.put_workflow("w" * 32, {"schedule": None, "jobs": jobs})


def test_a_released_step_keeps_its_job_which_a_workflow_of_the_same_id_defines_again(scheduler: Scheduler) -> None:
    scheduler.client.put_workflow("eu", ETL)
    with pytest.raises(ConflictError):
        scheduler.client.delete_job("eu--load")
    scheduler.client.delete_job("eu")
    assert [job.id for job in scheduler.client.list_jobs().items] == ["eu--extract", "eu--load"]
    assert scheduler.client.put_workflow("eu", ETL).created == ("eu",)
    scheduler.answer("eu--extract", body={"rows": 7})
    assert len(scheduler.advance(hours=3)) == 2
