"""Explains why a step of a workflow ran at an instant or did not, and why a workflow's run waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.explain import Explanation, Verdict, recorded
from duecourse.domain.runs.states import Retrying, Waiting
from duecourse.domain.workflows.graph import StepOutcome
from duecourse.domain.workflows.view import Pending, StepView, WorkflowRunView

NAMED = 3
"""The maximum number of steps in a sentence. The facts list all of them."""


def waiting_for(found: Explanation, view: WorkflowRunView, *, now: float) -> Explanation:
    """Return the explanation of a workflow's run that waits for its steps, or continues after a redriven step: how many
    steps have ended, and which are due or active.
    """
    ended = sum(isinstance(each.progress, StepOutcome) for each in view.steps)
    due = [each for each in view.steps if each.progress is Pending.DUE]
    waits = (
        f"it waits for {_few([_doing(view, each, now) for each in due])}"
        if due
        else "the end of the run is recorded next"
    )
    until = f", until {to_iso(int(view.run.deadlines.waiting_until))}" if isinstance(view.run, Waiting) else ""
    facts = {"ended": ended, "jobs": len(view.steps), "waits_for": [each.step.id for each in due]}
    again = f"It is {view.run.state}, and continues after the redrive of a step. " if view.continues else ""
    sentence = f"{again}{ended} of its {len(view.steps)} steps have ended; {waits}{until}."
    return replace(found, sentence=sentence, facts={**found.facts, **facts})


def step_in(whole: Explanation, view: WorkflowRunView, job: Job, *, now: float) -> Explanation:
    """Explain why a step has no record of an instant for which its workflow's run has one, or has one that no longer
    counts. `whole` explains that run.
    """
    of, each = view.run, view.step(job.id)
    due = view.due(each)
    if each.current is not None:  # the workflow's run covers several occurrences
        found = recorded(each.current, each.current.occurrence)
        found = replace(found, sentence=f"Its workflow's run at this time is {of.name}. {found.sentence}")
    elif isinstance(each.progress, StepOutcome):
        found = Explanation(
            Verdict.UNCLEAR, f"It has ended in {of.name} ({each.progress}); its record no longer exists."
        )
    elif each.progress is Pending.LEFT or due is None:
        return instead_of(whole, of.job_id)
    elif each.progress is Pending.WAITING:
        waits = {"waits_for": list(each.waits_for)}
        found = Explanation(Verdict.WAITS, f"It waits for {_few(each.waits_for)} of {of.name}.", waits)
    else:
        found = _due(f"Its start in {of.name}", due, job, now)
    facts = {**found.facts, "workflow_run": of.run_id}
    return replace(found, facts=facts, before=whole.before, after=whole.after, run=found.run or of)


def instead_of(whole: Explanation, workflow: str) -> Explanation:
    """Return the explanation of a step that did not run, from the explanation of its workflow. The workflow did not
    run, or its run ended before the step could start.
    """
    verdict = Verdict.SKIPPED if whole.verdict is Verdict.FIRED else whole.verdict
    return replace(
        whole, verdict=verdict, sentence=f"It runs in the workflow {workflow}. About that run: {whole.sentence}"
    )


def _due(start: str, due: int, job: Job, now: float) -> Explanation:
    facts = {"due": to_iso(due), "lane": job.lane.value}
    if due > now:
        return Explanation(Verdict.FUTURE, f"{start} is at {to_iso(due)}.", facts)
    if job.is_paused(now):
        end = (
            "after the job is resumed"
            if job.paused_until is None
            else f"when its pause ends, at {to_iso(job.paused_until)}"
        )
        return Explanation(Verdict.PAUSED, f"{start} was due at {to_iso(due)}; it starts {end}.", facts)
    return Explanation(Verdict.QUEUED, f"{start} was due at {to_iso(due)}; it waits for a worker.", facts)


def _doing(view: WorkflowRunView, each: StepView, now: float) -> str:
    run, due = each.current, view.due(each)
    if isinstance(run, Retrying):
        return f"{each.step.id} (RETRYING, next at {to_iso(int(run.not_before))})"
    if run is not None:
        return f"{each.step.id} ({run.state})"
    return f"{each.step.id} (due {to_iso(due)})" if due is not None and due > now else f"{each.step.id} (due)"


def _few(names: Sequence[str]) -> str:
    if len(names) > NAMED:
        return f"{', '.join(names[: NAMED - 1])} and {len(names) - NAMED + 1} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
