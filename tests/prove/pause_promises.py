"""What the documentation promises of pauses with an end, of catch-ups after them, and of `max_runs`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.prove.draw import at
from tests.prove.history import Result
from tests.prove.operations import Done
from tests.prove.plan import START

Finding = tuple[str, str]

SLACK_SECONDS = 3
"""How long a request, a message or a call may take in calm times."""

JUDGED = {"create", "pause", "resume"}
"""The operations of histories that are judged: the definition of the job stays the same."""


def only_paused(done: list[Done]) -> bool:
    """Return whether a job kept its definition, although it was paused and resumed."""
    sure = all(each.reply.status is not None for each in done)
    return sure and not {each.operation.what for each in done} - JUDGED


class PausePromises:
    """Checks of jobs with a rate as their schedule, which are only paused and resumed."""

    def __init__(self, result: Result, done: dict[str, list[Done]]) -> None:
        self.result = result
        self.done = done

    def findings(self) -> Iterator[Finding]:
        """What contradicts the promises."""
        for job, each in self.done.items():
            shown = self.result.jobs.get(job)
            created = [done for done in each if done.operation.what == "create" and done.reply.accepted]
            if shown is None or len(created) != 1 or not only_paused(each):
                continue
            body = created[0].operation.more["body"]
            if str(body["schedule"]).startswith("rate(") and "pause" in {done.operation.what for done in each}:
                yield from _Job(self.result, job, shown, body, each).findings()


class _Job:
    def __init__(self, result: Result, job: str, shown: dict[str, Any], body: dict[str, Any], done: list[Done]) -> None:
        self.result, self.job, self.shown, self.body = result, job, shown, body
        self.done = sorted(done, key=lambda each: each.reply.asked)
        self.every = int(body["schedule"].removeprefix("rate(").split()[0]) * (
            60 if "minute" in body["schedule"] else 1
        )
        self.runs = [run for run in result.runs.values() if run["job_id"] == job and run["id"].count(".") == 1]
        self.calls = {call.run: call for call in result.world.targets.calls if call.job == job}
        self.paused = list(self._pauses())
        plan = result.world.plan
        self.calm = not plan.faults and plan.conditions.__class__() == plan.conditions

    def _pauses(self) -> Iterator[tuple[float, float, bool]]:
        """Begin, end and catch-up of each pause; the end is infinite for the pause that the job still has."""
        begin: float | None = None
        end, catch_up = float("inf"), False
        for each in [each for each in self.done if each.reply.accepted]:
            asked, answered = each.reply.asked, each.reply.answered
            if begin is not None and end <= asked:
                yield begin, end, catch_up
                begin = None
            match each.operation.what:
                case "pause":
                    begin = answered if begin is None else begin
                    end = each.operation.more.get("until", float("inf"))
                    catch_up = bool(each.operation.more.get("catch_up"))
                case "resume" if begin is not None:
                    yield begin, asked, bool(each.operation.more["body"]["catch_up"])
                    begin = None
        if begin is not None:
            yield begin, end, catch_up

    def findings(self) -> Iterator[Finding]:
        yield from self._caught_up()
        yield from self._left_out()
        yield from self._in_time()
        yield from self._max_runs()

    def _covered(self, run: dict[str, Any]) -> list[float]:
        first = at(run["id"].partition(".")[2])
        return [first + number * self.every for number in range(run["count"])]

    def _caught_up(self) -> Iterator[Finding]:
        """A catch-up with run_all loses nothing: also not what waited when the pause began."""
        catches = all(catch_up for _, _, catch_up in self.paused)
        if not catches or self.body["missed"]["policy"] != "run_all":
            return
        covered = sum((end - begin) / self.every + 1 for begin, end, _ in self.paused)
        if covered + self._waiting() > self.body["missed"]["max_missed"]:
            return  # the oldest occurrences beyond max_missed are recorded as missed
        # Runs that are caught up together meet each other.
        replaced = {"newest": "replaced", "replace": "replaced", "skip": "overlap"}.get(str(self.body["overlap"]))
        for run in self.runs:
            if run["state"] == "SKIPPED" and run["reason"] != replaced and not self._expired(run):
                text = f"{run['id']} ({run['count']}): {run['reason']}, paused {self._told()}"
                yield "a resume with catch_up runs what waited and what the pause covered", text

    def _expired(self, run: dict[str, Any]) -> bool:
        """Whether the start deadline of a run was before the end of a pause, so that the catch-up came too late for it.
        In trouble, a run may also miss it afterwards.
        """
        if run["reason"] != "start_deadline":
            return False
        by = self._covered(run)[-1] + self.body["start_deadline_seconds"]
        return not self.calm or any(begin < by < end + SLACK_SECONDS for begin, end, _ in self.paused)

    def _waiting(self) -> int:
        """How many occurrences may have waited when a pause began: they were due, and their last attempt was later."""
        called = {name: call.began for name, call in self.calls.items()}
        return sum(
            any(due <= begin < called.get(run["id"], float("inf")) for begin, _, _ in self.paused)
            for run in self.runs
            for due in self._covered(run)
        )

    def _left_out(self) -> Iterator[Finding]:
        """Without a catch-up, no occurrence of a pause runs, at any time. Clocks may differ."""
        if any(catch_up for _, _, catch_up in self.paused):
            return
        least = self.result.world.plan.conditions.skew
        for name, call in self.calls.items():
            due = at(name.partition(".")[2])
            for begin, end, _ in self.paused:
                if begin + least < due < end - least:
                    yield "an occurrence of a pause does not run", f"{name} at {call.began - START:.1f}, {self._told()}"

    def _in_time(self) -> Iterator[Finding]:
        """In calm times, occurrences that no pause covers are on time, even just after its end."""
        if not self.calm or self.body["overlap"] != "allow":
            return
        for name, call in self.calls.items():
            due = at(name.partition(".")[2])
            near = any(begin - SLACK_SECONDS < due < end + SLACK_SECONDS for begin, end, _ in self.paused)
            if not near and call.began > due + SLACK_SECONDS:
                yield "runs after the end of a pause are on time", f"{name} at {call.began - START:.1f}, {self._told()}"

    def _max_runs(self) -> Iterator[Finding]:
        """At most `max_runs` occurrences come due, and a completed job has had as many (or no more until its `end`)."""
        limit = self.body.get("max_runs")
        if limit is None:
            return
        count = sum(len(self._covered(run)) for run in self.runs if run["reason"] != "paused")
        waited = sum(
            1
            for run in self.runs
            if run["reason"] == "paused"
            for due in self._covered(run)
            if not any(begin + 1 < due < end for begin, end, _ in self.paused)
        )
        text = f"{count} came due and {waited} before a pause, of {limit}: {self.shown['state']}, {self._told()}"
        if count > limit:
            yield "at most max_runs occurrences come due", text
        last = max((self._covered(run)[-1] for run in self.runs), default=0.0)
        over = last + self.every >= at(self.body["end"])
        if self.shown["state"] == "COMPLETED" and count + waited < limit and not over:
            yield "a pause does not use up max_runs", text

    def _told(self) -> str:
        return ", ".join(f"{begin - START:.1f}-{end - START:.1f} {catch_up}" for begin, end, catch_up in self.paused)
