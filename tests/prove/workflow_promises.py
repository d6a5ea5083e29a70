"""What docs/workflows.md promises of workflows, checked against what was observed of a history.

`expected` is the page's table of rules as a function; nothing of the project is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.prove.draw import at
from tests.prove.operations import FINAL, Done
from tests.prove.plan import START
from tests.prove.promises import LATE_REQUEST_SECONDS, SLACK, Finding, Promises, local_of, shown, told
from tests.prove.targets import TargetCall

OF_OTHERS = ("upstream_failed", "upstream_skipped", "not_needed", "not_its_time")
"""Reasons of a job's being skipped that follow from the jobs before it, or from the occurrence."""

Runs = Mapping[str, dict[str, Any]]


def ending(step: dict[str, Any]) -> str:
    """How a job's end counts for the jobs after it: `ok`, `failed`, `skipped`, or `open`. A step that a rerun carries
    over although it never ran counts as skipped after a failure.
    """
    if step["carried_over"] and step["state"] == "LEFT":
        return "failed"
    match step["state"], step["reason"]:
        case "SUCCEEDED", _:
            return "ok"
        case "SKIPPED", "upstream_skipped" | "not_needed" | "not_its_time" | None:
            return "skipped"
        case (("DEAD" | "CANCELLED" | "SKIPPED"), _):
            return "failed"
    return "open"


def expected(when: str, before: list[str]) -> str | None:
    """What becomes of a job by the ends before it, all of them known: it `starts`, or the reason why it is skipped."""
    ok, failed = "ok" in before, "failed" in before
    if not before or when == "all_done":
        return "starts"
    match when:
        case "all_success":
            return "upstream_failed" if failed else "starts" if set(before) == {"ok"} else "upstream_skipped"
        case "any_success":
            return "starts" if ok else "upstream_failed" if failed else "upstream_skipped"
        case "any_failure":
            return "starts" if failed else "not_needed"
        case "none_failed":
            return "upstream_failed" if failed else "starts" if ok else "upstream_skipped"
    raise ValueError(when)


class WorkflowPromises(Promises):
    """All that is promised of jobs, and what is promised of workflows."""

    def findings(self) -> Iterator[Finding]:
        """What contradicts the promises."""
        yield from super().findings()
        if self.result.storm:
            return
        for name, run in self.result.graphs.items():
            yield from self._outcome(name, run)
            yield from self._rules(name, run)
            yield from self._order(name, run)
            yield from self._over(name, run)
            yield from self._carried(name, run)
        yield from self._reruns()
        yield from self._membership()
        yield from self._paused()

    def _steps(self, run: dict[str, Any]) -> Runs:
        return {each["id"]: each for each in run["jobs"]}

    def calls_of(self, step: str, local: str) -> list[TargetCall]:
        """The calls of a step's run, of its items, or of the steps of a nested workflow."""
        own = [calls for name, calls in self.calls.items() if (name.partition(".")[0], local_of(name)) == (step, local)]
        own += [self.calls_of(each, local) for each in self._within(step)]
        return sorted((one for calls in own for one in calls), key=lambda each: each.began)

    def _within(self, step: str) -> set[str]:
        """The steps of a workflow; none of another job."""
        puts = [done for done in self.done[step] if done.operation.what == "put"]
        return {name for done in puts for name in done.operation.more["body"]["jobs"]}

    def _family(self, workflow: str, steps: Runs) -> set[str]:
        """The jobs on whose runs an action may change a run of the workflow: those of all levels."""
        outer = {other for other in self.result.workflows if workflow in self._within(other)}
        inner = {each for each in steps if self._within(each)}
        return {workflow, *steps, *outer}.union(*(self._within(each) for each in outer | inner))

    def _may_fail(self, run: str) -> set[str] | None:
        """Jobs that may fail; None where the workflow was put more than once."""
        puts = [done for done in self.done[run.partition(".")[0]] if done.operation.what == "put"]
        if len(puts) != 1:
            return None
        return {name for name, each in puts[0].operation.more["body"]["jobs"].items() if each.get("may_fail")}

    def _outcome(self, name: str, run: dict[str, Any]) -> Iterator[Finding]:
        """A run succeeds if no job failed that may not; it ends once all have ended."""
        steps, may_fail = self._steps(run), self._may_fail(name)
        if may_fail is None:
            return
        left = {each for each, step in steps.items() if step["carried_over"] and step["state"] == "LEFT"}
        failed = sorted(
            each
            for each, step in steps.items()
            if each not in may_fail
            and each not in left
            and ending(step) == "failed"
            and step["reason"] != "upstream_failed"
            and not (step["carried_over"] and step["reason"] == "workflow_over")  # counts as skipped
        )
        still = sorted(each for each, step in steps.items() if step["state"] not in FINAL and each not in left)
        text = f"{name} is {run['state']} ({run['code']}, {run['reason']}): {_states(run)}"
        if run["state"] == "SUCCEEDED" and (failed or still):
            yield "a workflow succeeds if no job failed that may not", text
        if run["state"] == "DEAD" and self.by_steps(run) and not failed and not self._touched(name, steps):
            yield "a workflow is dead because of a job", text

    def _carried(self, name: str, run: dict[str, Any]) -> Iterator[Finding]:
        """A rerun keeps the outcomes of the steps that it carries over."""
        first, steps = self.result.graphs.get(run["rerun_of"] or ""), self._steps(run)
        if first is None or self._touched(name, steps) or self._touched(run["rerun_of"], self._steps(first)):
            return
        for each in (each for each in first["jobs"] if each["state"] in FINAL):
            step = steps.get(each["id"])
            if step is not None and step["carried_over"] and step["state"] != each["state"]:
                text = f"{each['id']} of {name}: {step['state']}, in {run['rerun_of']}: {each['state']}"
                yield "a rerun keeps the outcomes that it carries over", text

    def by_steps(self, run: dict[str, Any]) -> bool:
        return "steps_failed" in (run["code"], run["reason"]) or "steps_failed" in str(run["code"])

    def _touched(self, name: str, steps: Runs) -> bool:
        """Whether somebody acted on a run, or on a run of one of its jobs, or on a run from which an end is given."""
        local, workflow = name.partition(".")[2], name.partition(".")[0]
        runs = {f"{each}.{local}" for each in self._family(workflow, steps)} | {name}
        given = {step["run"] for step in steps.values() if step["carried_over"] and step["run"]}
        runs |= given | {f"{workflow}.{each.partition('.')[2]}" for each in given}
        if self.result.operator.redriven_messages:
            return True
        return any(
            (_step_of(done.run) in runs and done.operation.what != "rerun") or done.operation.what == "redrive-many"
            for each in self.done.values()
            for done in each
        )

    def _rules(self, name: str, run: dict[str, Any]) -> Iterator[Finding]:
        """Each job ran, or was skipped, as its rule says by the final ends before it."""
        if run["state"] not in FINAL or (run["state"] != "SUCCEEDED" and not self.by_steps(run)):
            return
        steps = self._steps(run)
        if self.recreated(name.partition(".")[0]) and self._touched(name, steps):
            return  # a job that is redriven runs, but a deleted workflow does not go on
        of = self.result.runs.get(name, {}).get("workflow")
        if run["state"] == "SUCCEEDED" and of != name.partition(".")[0] and self._touched(name, steps):
            return  # a step of it was redriven, but a nested workflow that has succeeded is final
        for each, step in steps.items():
            if step["carried_over"] or step["reason"] == "not_its_time" or each in run["rerun_from"]:
                continue
            before = [ending(steps[other]) for other in step["after"] if other in steps]
            due = expected(step["when"], before)
            skipped = step["reason"] if step["state"] == "SKIPPED" and step["reason"] in OF_OTHERS else "starts"
            if skipped == due:
                continue
            if self._touched(name, steps) and skipped == "starts":
                continue  # it had started because of an end that was withdrawn later
            yield (
                "jobs start by their rules",
                f"{each} of {name}: {due} is due, it is {step['state']} ({step['reason']}): {_states(run)}",
            )

    def _order(self, name: str, run: dict[str, Any]) -> Iterator[Finding]:
        """No job starts before the jobs before it have ended as its rule needs it."""
        steps, local = self._steps(run), name.partition(".")[2]
        for each, step in steps.items():
            for call in self.calls_of(each, local):
                before = {other: self.calls_of(other, local) for other in step["after"] if other in steps}
                if step["carried_over"] or each in run["rerun_from"]:
                    continue
                yield from self._started(name, each, step, call, before)

    def _started(
        self, name: str, each: str, step: dict[str, Any], call: TargetCall, before: dict[str, list[TargetCall]]
    ) -> Iterator[Finding]:
        succeeded = [
            other
            for other, calls in before.items()
            if self.has_items(f"{other}.{name.partition('.')[2]}")
            or self._within(other)
            or any(
                one.callback_token or (one.outcome == "succeeds" and one.until <= call.began + SLACK) for one in calls
            )
        ]
        seen = [[told(one) for one in calls] for calls in before.values()]
        text = f"{each} ({step['when']}) of {name}: {told(call)}; before it: {seen}"
        given = {other["id"] for other in self.result.graphs[name]["jobs"] if other["carried_over"]}
        if step["when"] == "all_success" and set(before) - set(succeeded) - given:
            yield "no job starts before its condition holds", text
        if step["when"] in ("any_success", "none_failed") and before and not succeeded and not given & set(before):
            yield "no job starts before its condition holds", text
        # The cancellation of a step with items or steps ends it, and interrupts no call (docs/runs.md#cancel).
        cancelled = {other["id"] for other in self.result.graphs[name]["jobs"] if other["state"] == "CANCELLED"}
        if step["when"] in ("all_success", "all_done", "none_failed"):
            at_work = [
                one
                for other, calls in before.items()
                for one in calls
                if not (
                    other in cancelled and (self._within(other) or self.has_items(f"{other}.{name.partition('.')[2]}"))
                )
                and one.began < call.began - SLACK < min(one.until, self.alive_until(one)) - 2 * SLACK
            ]
            if at_work and call.attempt == 1:
                yield "nothing starts beside a job that it comes after", text

    def _over(self, name: str, run: dict[str, Any]) -> Iterator[Finding]:
        """Nothing starts after a run has ended, or after its workflow was deleted."""
        local, steps = name.partition(".")[2], self._steps(run)
        if run["finished_at"] is None or run["state"] not in ("CANCELLED", "DEAD") or self._touched_after(name, steps):
            return
        begin = at(run["finished_at"]) + self.skew + (2 if self.undisturbed else LATE_REQUEST_SECONDS)
        for each in steps:
            for call in self.calls_of(each, local):
                if call.began > begin:
                    yield (
                        "nothing starts after a workflow's run is over",
                        f"{told(call)}; {name} {run['state']} at {at(run['finished_at']) - START:.1f}",
                    )

    def _touched_after(self, name: str, steps: Runs) -> bool:
        workflow, _, local = name.partition(".")
        runs = {f"{each}.{local}" for each in self._family(workflow, steps)} | {name}
        return bool(self.result.operator.redriven_messages) or any(
            (_step_of(done.run) in runs and done.operation.what == "redrive") or done.operation.what == "redrive-many"
            for each in self.done.values()
            for done in each
        )

    def _reruns(self) -> Iterator[Finding]:
        """A run can be rerun once it and all its steps have ended."""
        margin = self.skew + (2 if self.undisturbed else LATE_REQUEST_SECONDS)
        for done in (done for each in self.done.values() for done in each):
            if done.operation.what != "rerun" or done.reply.status != 409 or done.run not in self.result.graphs:
                continue
            run = self.result.graphs[done.run]
            own = [run, *(step for step in run["jobs"] if not step["carried_over"])]
            last = max([at(each["finished_at"]) for each in own if each["finished_at"]], default=done.reply.asked)
            if done.reply.document["type"].endswith("run-not-ended") and last < done.reply.asked - margin:
                yield (
                    "an ended run can be rerun",
                    f"asked at {done.reply.asked - START:.1f}: {done.run}: {_states(run)}",
                )

    def _membership(self) -> Iterator[Finding]:
        """A job is in one workflow; a request that was refused has changed nothing."""
        owner: dict[str, str] = {}
        for workflow, document in self.result.workflows.items():
            puts = [done for done in self.done[workflow] if done.operation.what == "put"]
            unknown = [done for done in puts if done.reply.status is None or done.reply.status >= 500]
            if document is not None and not unknown and not any(done.reply.accepted for done in puts):
                refused = [done.reply.document for done in puts]
                yield (
                    "a refused request changes nothing",
                    f"workflow {workflow} exists, all PUTs were refused: {refused}",
                )
            for job in document["jobs"] if document is not None else ():
                if job in owner:
                    yield "a job is in one workflow", f"{job} is in {owner[job]} and in {workflow}"
                owner[job] = workflow
            yield from self._refused(workflow, puts)

    def _refused(self, workflow: str, puts: list[Done]) -> Iterator[Finding]:
        """The last PUT was refused, and yet what it said is there."""
        document = self.result.workflows[workflow]
        for done in puts:
            if document is None or done.reply.accepted or done.reply.status is None or done.reply.status >= 500:
                continue
            name = done.operation.more["body"].get("name")
            if name and document.get("name") == name:
                yield (
                    "a refused request changes nothing",
                    f"workflow {workflow}: {done.reply.document}, and it has the name {name}",
                )

    def _paused(self) -> Iterator[Finding]:
        """A paused job of a workflow starts nothing until it is resumed."""
        steps = {step for document in self.graphs_put() for step in document}
        for job in steps:
            for done in self.done[job]:
                if done.operation.what != "pause" or not done.reply.accepted:
                    continue
                begin = done.reply.answered + (1 if self.undisturbed else LATE_REQUEST_SECONDS / 3)
                ends = [
                    other.reply.asked
                    for other in self.done[job] + [one for flow in self.result.workflows for one in self.done[flow]]
                    if other.operation.what in ("resume", "put", "replace", "delete", "run")
                    and other.reply.asked > done.reply.asked
                ]
                for run, calls in self.calls.items():
                    for call in calls:
                        fresh = call.attempt == 1 or self.redrives(run, call.began)
                        if call.job == job and fresh and begin < call.began < min(ends, default=0):
                            yield (
                                "a paused job does not start",
                                f"{told(call)}, paused at {done.reply.answered - START:.1f}",
                            )

    def graphs_put(self) -> list[dict[str, Any]]:
        return [
            done.operation.more["body"]["jobs"]
            for workflow in self.result.workflows
            for done in self.done[workflow]
            if done.operation.what == "put"
        ]


def _step_of(run: str | None) -> str | None:
    """The run of the step to which an item's run belongs; another run itself."""
    return None if run is None else f"{run.partition('.')[0]}.{local_of(run)}"


def _states(run: dict[str, Any]) -> str:
    return ", ".join(
        f"{each['id']} {each['state']}{'' if each['reason'] is None else ' (' + each['reason'] + ')'}"
        f"{' after ' + '+'.join(each['after']) + ' ' + each['when'] if each['after'] else ''}"
        for each in run["jobs"]
    )


__all__ = ["WorkflowPromises", "ending", "expected", "shown"]
