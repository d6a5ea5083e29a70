"""Why a workflow or a job of it ran at an instant, waits, or did not run."""

from collections.abc import Callable

import pytest

from duecourse.domain.jobs.job import Backoff, Completion, JobState, Overlap, RetryPolicy
from duecourse.domain.runs.explain import Verdict
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome
from duecourse.domain.workflows.check import workflow_fields
from duecourse.ports import Call
from duecourse.usecases.runs.explain import Explained
from tests.support.jobs import NOON, job
from tests.support.workflow_world import CHAIN, DIAMOND, INSTANT, WorkflowWorld
from tests.support.workflows import graph_of

DUE = int(NOON) + 60
"""The instant of the workflow's run."""

Asked = Callable[..., Explained]


@pytest.fixture
def asked(world: WorkflowWorld) -> Asked:
    """What is explained of a job, at the instant of its workflow unless another is given."""
    explain = world.api.explain
    return lambda job_id, at=DUE: explain("default", job_id, at)


def test_workflow_explain_shows_the_number_of_ended_steps_and_the_pending_ones(
    world: WorkflowWorld, asked: Asked
) -> None:
    def answer(call: Call) -> Outcome:
        return Failed("busy", code="http.503") if call.job.id == "eu" else world.answers(call)

    world.caller.answer = answer
    later = RetryPolicy(backoff=Backoff.FIXED, min_seconds=600)
    world.add(job("", id="eu", workflow="nightly", overlap=Overlap.ALLOW, retry=later))
    world.begin(graph_of(DIAMOND), NOON + 90)
    found = asked("nightly").found
    assert found.verdict is Verdict.RUNNING
    assert found.sentence == (
        "2 of its 4 steps have ended; it waits for eu (RETRYING, next at 2026-11-21T12:11:00Z), "
        "until 2026-11-21T13:01:00Z."
    )
    assert (found.facts["ended"], found.facts["jobs"], found.facts["waits_for"]) == (2, 4, ["eu"])


def test_workflow_explain_names_the_first_pending_upstream_step_of_a_waiting_step(
    world: WorkflowWorld, asked: Asked
) -> None:
    before = {f"load-{name}": () for name in ("ap", "eu", "me", "us")}
    for name in before:
        world.add(job("", id=name, workflow="nightly", overlap=Overlap.ALLOW, completion=Completion.CALLBACK))
    world.begin(graph_of({**before, "report": tuple(before), "mail": ("report",)}), NOON + 90)
    found = asked("report")
    assert found.found.verdict is Verdict.WAITS
    assert found.found.sentence == f"It waits for load-ap, load-eu and 2 more of nightly.{INSTANT}."
    assert found.found.facts == {"waits_for": list(before), "workflow_run": f"nightly.{INSTANT}"}
    assert found.run is not None
    assert str(found.run.name) == f"nightly.{INSTANT}"
    assert asked("mail").found.sentence == f"It waits for report of nightly.{INSTANT}."
    waits = asked("nightly").found.sentence
    assert waits.startswith(
        "0 of its 6 steps have ended; it waits for load-ap (WAITING), load-eu (WAITING) and 2 more,"
    )


def test_workflow_explain_uses_the_record_of_a_step(world: WorkflowWorld, asked: Asked) -> None:
    world.answers.failing = {"extract"}
    world.begin(graph_of(CHAIN), NOON + 90)
    assert asked("extract").found.verdict is Verdict.FIRED
    found = asked("transform")
    assert found.found.verdict is Verdict.SKIPPED
    assert found.found.sentence == "It did not run: an upstream step of its workflow failed."
    assert found.run == world.run("transform")
    assert asked("nightly").found.sentence == (
        "Its steps have ended; failed: extract (http.500). Correct the cause, then redrive it or rerun a part of it."
    )


def test_workflow_explain_shows_when_a_step_with_its_own_time_starts(world: WorkflowWorld, asked: Asked) -> None:
    world.begin(graph_of(CHAIN, transform={"not_before": "0 13 * * *"}), NOON + 90)
    found = asked("transform").found
    assert (found.verdict, found.facts["due"]) == (Verdict.FUTURE, "2026-11-21T13:00:00Z")
    assert found.sentence == f"Its start in nightly.{INSTANT} is at 2026-11-21T13:00:00Z."
    assert "it waits for transform (due 2026-11-21T13:00:00Z)" in asked("nightly").found.sentence


def test_workflow_explain_reports_that_a_paused_step_starts_after_its_resume(
    world: WorkflowWorld, asked: Asked
) -> None:
    paused = {"state": JobState.PAUSED, "paused_at": NOON}
    world.add(job("", id="transform", workflow="nightly", overlap=Overlap.ALLOW, **paused))
    world.begin(graph_of(CHAIN), NOON + 90)
    found = asked("transform").found
    assert found.verdict is Verdict.PAUSED
    assert found.sentence.endswith("it starts after the job is resumed.")


def test_workflow_explain_reports_that_a_due_step_waits_for_a_worker(world: WorkflowWorld, asked: Asked) -> None:
    world.begin(graph_of(CHAIN, transform={"not_before": "5 12 * * *"}), NOON + 290)
    world.clock.set(NOON + 301)
    found = asked("transform").found
    assert found.verdict is Verdict.QUEUED
    assert found.sentence == f"Its start in nightly.{INSTANT} was due at 2026-11-21T12:05:00Z; it waits for a worker."


@pytest.mark.tables
def test_workflow_explain_does_not_guess_about_a_step_without_a_record(world: WorkflowWorld, asked: Asked) -> None:
    world.begin(graph_of(CHAIN), NOON + 90)
    world.delete_record("load")
    found = asked("load").found
    assert (found.verdict, found.sentence) == (
        Verdict.UNCLEAR,
        f"It has ended in nightly.{INSTANT} (succeeded); its record no longer exists.",
    )


def test_workflow_explain_reports_that_a_step_did_not_run_since_its_workflow_was_cancelled(
    world: WorkflowWorld, asked: Asked
) -> None:
    world.begin(graph_of(CHAIN, transform={"not_before": "0 13 * * *"}), NOON + 90)
    world.cancel("nightly")
    world.until(NOON + 3700)
    assert asked("transform").found.sentence == (
        "It was cancelled after 0 attempts because the run of its workflow had ended."
    )
    found = asked("load").found
    assert found.verdict is Verdict.CANCELLED
    assert found.sentence == "It runs in the workflow nightly. About that run: It was cancelled after 1 attempt."


def test_workflow_explain_reports_that_a_step_did_not_run_since_its_workflow_reached_its_deadline(
    world: WorkflowWorld, asked: Asked
) -> None:
    world.begin(graph_of(CHAIN, transform={"not_before": "0 13 * * *"}), NOON + 1000, deadline_seconds=600)
    found = asked("load").found
    assert found.verdict is Verdict.SKIPPED
    assert found.sentence == (
        "It runs in the workflow nightly. About that run: It is dead after 1 attempt (workflow.deadline). "
        "Correct the cause, then redrive it."
    )


def test_workflow_explain_gives_the_reason_for_an_instant_without_a_workflow_run(
    world: WorkflowWorld, asked: Asked
) -> None:
    world.begin(graph_of(CHAIN), NOON + 10)
    assert asked("load").found.verdict is Verdict.QUEUED
    nothing = asked("load", DUE + 5)
    assert (nothing.found.verdict, nothing.run) == (Verdict.NOT_AN_OCCURRENCE, None)
    assert nothing.found.sentence.startswith("It runs in the workflow nightly. About that run: Its schedule (")
    assert nothing.found.before == DUE


def test_workflow_explain_covers_the_steps_of_a_rerun(world: WorkflowWorld, asked: Asked) -> None:
    world.answers.failing = {"transform"}
    world.begin(graph_of(CHAIN), NOON + 90)
    world.answers.failing = set()
    again = world.rerun(["transform"])
    world.until(NOON + 120)
    found = asked("transform")
    assert (found.found.verdict, found.run) == (Verdict.FIRED, world.run("transform", again.name.local))
    assert found.run is not None
    assert found.run.state is RunState.SUCCEEDED


def test_workflow_explain_treats_a_job_missing_in_its_workflow_separately(world: WorkflowWorld, asked: Asked) -> None:
    world.add(job("", id="stranger", workflow="nightly"))
    world.add(job("", id="orphan", workflow="nobody"))
    world.begin(graph_of(CHAIN), NOON + 90)
    for name in ("stranger", "orphan"):
        found = asked(name).found
        assert found.verdict is Verdict.NOT_AN_OCCURRENCE
        assert found.sentence == "The job has no schedule: it runs only on demand."


@pytest.mark.parametrize(
    ("contained", "sentence"),
    [
        (False, "The job has no schedule: it runs only on demand."),
        (True, "It runs in the workflow two. About that run: It runs in the workflow one. "),
    ],
)
def test_workflow_explain_ends_for_workflows_with_the_names_of_each_other(
    world: WorkflowWorld, asked: Asked, contained: bool, sentence: str
) -> None:
    """Two failed requests can leave such names. Two requests at the same time can also store such graphs."""
    for name, other in (("one", "two"), ("two", "one")):
        ref = world.workflows.put_graph("default", name, graph_of({other if contained else "own": ()}))
        world.add(job("", id=name, workflow=other, **workflow_fields(ref.graph)))
    found = asked("one").found
    assert found.verdict is Verdict.NOT_AN_OCCURRENCE
    assert found.sentence.startswith(sentence)
