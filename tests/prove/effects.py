"""What the documentation promises of effects and of when they come: completions, cancellations, wait queues,
resumptions, redrives of workflows, deadlines and deletions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from duecourse.limits import MAX_DELAY_SECONDS
from tests.prove.draw import at
from tests.prove.end_promises import PROMPT_SECONDS, EndPromises
from tests.prove.operations import Done
from tests.prove.plan import START
from tests.prove.promises import SLACK, Finding, shown, told
from tests.prove.targets import TargetCall

IDLE_REQUESTS = 100
"""Of a stage in a minute in which nothing happens."""

MOST_REQUESTS_EACH = 80
"""For each attempt, request to the API and occurrence."""

REQUESTS_OF_A_REPLACED_MESSAGE = 8
"""To find that the run of a message has ended by another one: its record, its job and what an end may leave behind."""

REQUESTS_OF_A_REPEATED_MESSAGE = 16
"""To find that the run of a message has ended: the message also asks for the lock of its job, and may enter the wait
queue behind other repeated messages."""

REQUESTS_OF_A_DEAD_LETTER = 8
"""Every five minutes the reconciler compares each dead letter with its run."""


class AllPromises(EndPromises):
    """All that is promised."""

    def findings(self) -> Iterator[Finding]:
        """What contradicts the promises."""
        yield from super().findings()
        if self.result.storm:
            return
        yield from self._once()
        yield from self._called_back()
        yield from self._cancelled()
        yield from self._deleted_workflows()
        yield from self._deadlines()
        yield from self._redriven_workflows()
        if self.calm:
            yield from self._requests()
            yield from self._turns()
            yield from self._steps_in_time()
            yield from self._ends_in_time()

    def _flows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The runs of workflows by their ids, as their record and their graph show them."""
        runs = self.result.runs
        return ((name, runs[name] | graph) for name, graph in self.result.graphs.items() if name in runs)

    def _once(self) -> Iterator[Finding]:
        """The same request with the same key does it once, and has the same answer."""
        for operation in self.plan.operations:
            if "key" not in operation.more or operation.what != "run":
                continue
            same = [done for done in self.done[operation.job] if done.operation is operation and done.reply.accepted]
            runs = sorted({done.reply.document["id"] for done in same})
            if len(runs) > 1:
                yield "the same request twice does it once", f"at {operation.at}: {runs}"

    def _requests(self) -> Iterator[Finding]:
        """The requests of a minute are bounded by what happens in it and in the one before. A death costs most: its
        message is received five times until SQS moves it to the dead-letter queue, and each time what follows from the
        death is done again where it is missing, with about ten requests."""
        happened = Counter(int(call.began // 60) for calls in self.calls.values() for call in calls)
        happened.update(int(asked.reply.asked // 60) for asked in self.world.asked)
        happened.update(int(at(run["due"]) // 60) for run in self.result.runs.values())
        happened.update(self._waits_for_breakers())
        for minute, number in self.world.cloud.observed.requests.items():
            bound = IDLE_REQUESTS + MOST_REQUESTS_EACH * (happened[minute] + happened[minute - 1])
            bound += REQUESTS_OF_A_REPLACED_MESSAGE * self._replaced_messages(minute)
            bound += REQUESTS_OF_A_REPEATED_MESSAGE * self._sent_again(minute)
            bound += REQUESTS_OF_A_DEAD_LETTER * len(self.world.dead_letters.messages)
            if number > bound:
                yield (
                    "requests of a minute are bounded",
                    f"{number} in minute {minute - int(START // 60)}, {happened[minute]} things happened (<= {bound})",
                )

    def _waits_for_breakers(self) -> Iterator[int]:
        """The minutes in which runs may have waited for a circuit breaker, which they ask again and again."""
        for run in self.result.runs.values():
            if run["finished_at"] and any(each.get("breaker") for each in self.definitions(run["job_id"])):
                yield from range(int(at(run["due"]) // 60), int(at(run["finished_at"]) // 60) + 1)

    def _replaced_messages(self, minute: int) -> int:
        """How many messages may arrive in this minute that closing a breaker has replaced: one of each run that waited
        for it, at the instant until which the run would have waited.
        """
        latest = max((START + each.at for each in self.plan.operations if each.what == "close"), default=0.0)
        if not minute * 60 <= latest + MAX_DELAY_SECONDS + SLACK:
            return 0
        return sum(
            at(run["due"]) <= latest and any(each.get("breaker") for each in self.definitions(run["job_id"]))
            for run in self.result.runs.values()
        )

    def _sent_again(self, minute: int) -> int:
        """How many runs had ended before a message about them was sent in this minute. A resume sends its messages
        before a round claims them. If no round does before the job is paused again, a catch-up sends them once more.
        The messages about each run are bounded, too.
        """
        ended = {name: at(run["finished_at"]) for name, run in self.result.runs.items() if run["finished_at"]}
        about = self.world.cloud.observed.about
        return sum(any(sent > end and sent // 60 == minute for sent in about[name]) for name, end in ended.items())

    # Callbacks and cancellations.

    def _called_back(self) -> Iterator[Finding]:
        """The first accepted answer of a program decides its attempt, if it comes well before the deadline. If the
        target refuses the call at the same time, either may come first.
        """
        if self.plan.faults or self.plan.conditions.outage:
            return
        for name, calls in self.calls.items():
            run = self.result.runs.get(name)
            if run is None or run["workflow"] or len(calls) != 1 or self._stopped(calls[0].job):
                continue
            words = [
                (reply.answered, word)
                for other, word, reply in self.result.operator.callbacks
                if other == name and reply.accepted and word != "heartbeat"
            ]
            if not words or words[0][0] > self.alive_until_deadline(calls[0]) - 2 * self.skew - PROMPT_SECONDS:
                continue
            if calls[0].outcome not in ("open", "succeeds") and abs(calls[0].until - words[0][0]) <= PROMPT_SECONDS:
                continue
            state = "SUCCEEDED" if words[0][1] == "complete" else "DEAD"
            if words[0][1] == "fail" and (run["state"], run["code"]) == ("CANCELLED", "callback.failed"):
                continue  # it was cancelled or replaced before its next attempt
            if run["reason"] == "replaced" and self._rivalled(run, words[0][0]):
                continue  # the cancellation by a newer run came first: messages have no order
            if run["state"] != state or run["code"] in ("callback.deadline", "callback.heartbeat"):
                yield "an accepted answer of a program has its effect", f"{words[0]}: {shown(run)}"

    def _rivalled(self, run: dict[str, Any], instant: float) -> bool:
        """Whether another run of the same job was due, or was started, before this instant or shortly after it."""
        limit = instant + PROMPT_SECONDS + 2 * self.skew
        return any(
            other["id"] != run["id"] and at(run["due"]) <= at(other["due"]) <= limit
            for other in self.result.runs.values()
            if other["job_id"] == run["job_id"]
        )

    def alive_until_deadline(self, call: TargetCall) -> float:
        """Until when a program may answer for certain."""
        given = self.definitions(call.job)
        return call.began + min(
            [each.get(name) or 1e9 for each in given for name in ("completion_seconds", "heartbeat_seconds")],
            default=0.0,
        )

    def _stopped(self, job: str) -> bool:
        return any(done.operation.what not in ("create", "run", "post", "batch") for done in self.done[job])

    def _cancelled(self) -> Iterator[Finding]:
        """After the cancellation of a run that is not at work nothing of it starts, and it ends."""
        for each in self.done.values():
            for done in each:
                if done.operation.what == "cancel" and done.reply.accepted and self.undisturbed:
                    yield from self._cancellation(done)

    def _cancellation(self, done: Done) -> Iterator[Finding]:
        name, limit = str(done.run), done.reply.answered + PROMPT_SECONDS + 2 * self.skew
        run, calls = self.result.runs.get(name), self.calls.get(name, [])
        if (
            run is None
            or self.recreated(done.operation.job)
            or self.redrives(name)
            or self.plan.conditions.outage
            or run["workflow"] is not None
        ):
            return
        for call in calls:
            if call.began > limit:
                yield "nothing starts after cancel", f"{told(call)}, asked at {done.reply.asked - START:.1f}"
        started = any(done.reply.asked - 1 < call.began for call in calls)
        beats = any(each.get("heartbeat_seconds") for each in self.definitions(done.operation.job))
        if done.seen["state"] in ("RETRYING", "WAITING") and not started and not beats:
            over = None if run["finished_at"] is None else at(run["finished_at"])
            if over is None or over > limit:
                yield (
                    "an accepted cancellation has its effect",
                    f"asked at {done.reply.asked - START:.1f}: {shown(run)}",
                )

    # Wait queues of jobs that forbid overlap.

    def _turns(self) -> Iterator[Finding]:
        """When a run ends, the next one that waits starts. It may then wait for its rate (docs/runs.md#rates)."""
        for job in {calls[0].job for calls in self.calls.values()}:
            given = self.definitions(job)
            manual = all(each.get("overlap") == "queue" and each.get("schedule") is None for each in given)
            runs = [run for run in self.result.runs.values() if run["job_id"] == job]
            # It may wait for a run of another job or for a target, too.
            keyed = any(each.get("concurrency") or each.get("breaker") for each in given)
            if not given or not manual or keyed or self._stopped(job) or any(run["workflow"] for run in runs):
                continue
            asked = {
                done.reply.document["id"]: done.reply.answered
                for done in self.done[job]
                if done.operation.what == "run" and done.reply.accepted
            }
            began = sorted((self.calls[name][0].began, name) for name in asked if self.calls.get(name))
            for (_, before), (instant, name) in pairwise(began):
                over = self.result.runs.get(before, {}).get("finished_at")
                if over is None or instant <= max(at(over), asked[name]) + PROMPT_SECONDS:
                    continue
                if instant > self.rate_allows(self.calls[name][0]) + PROMPT_SECONDS:
                    yield (
                        "the next run in the wait queue starts when the one before it ends",
                        f"{told(self.calls[name][0])}, {before} ended at {at(over) - START:.2f}",
                    )

    # Workflows.

    def _asked_of(self, run: dict[str, Any]) -> float:
        """When a run of a workflow was asked for or due."""
        return max(
            [at(run["occurrence"])]
            + [
                done.reply.answered
                for done in self.done[run["job_id"]]
                if done.operation.what in ("run", "rerun") and (done.reply.document or {}).get("id") == run["id"]
            ]
        )

    def _steady(self, name: str, steps: Any) -> bool:
        """Whether nobody redrove, cancelled or replaced anything of a workflow."""
        family = self._family(name.partition(".")[0], steps)
        whats = {done.operation.what for job in family for done in self.done[job]}
        return (
            whats <= {"create", "run", "put", "rerun", "pause", "resume"} and not self.result.operator.redriven_messages
        )

    def _steps_in_time(self) -> Iterator[Finding]:
        """A job starts once the jobs before it have ended as its rule says; a paused one once it is resumed."""
        for name, run in self._flows():
            steps = self._steps(run)
            if not self._steady(name, steps) or any(self._timed(name, each) for each in steps):
                continue
            for each, step in steps.items():
                first = next(iter(self.calls.get(f"{each}.{name.partition('.')[2]}", [])), None)
                if first is None or step["carried_over"]:
                    continue
                is_nested = run["workflow"] != run["job_id"]
                ready = [at(run["started_at"]) if is_nested else self._asked_of(run)]
                ready += [
                    at(steps[other]["finished_at"]) for other in _before(each, steps) if steps[other]["finished_at"]
                ]
                resumed = [done.reply for done in self.done[each] if done.operation.what in ("resume", "create")]
                ready += [instant for reply in resumed for instant in (reply.asked, reply.answered)]
                ready += [one.until for calls in self.calls.values() for one in calls if one.job == each]
                ready += self._runs_ended(each) + self._runs_ended(run["job_id"])  # it may have waited for another run
                since = max(instant for instant in ready if instant <= first.began + SLACK)
                if first.began > since + PROMPT_SECONDS:
                    yield (
                        "a job starts when it may",
                        f"{told(first)} of {name}; it could at {since - START:.2f}: {_states(run)}",
                    )

    def _runs_ended(self, job: str) -> list[float]:
        own = (run for run in self.result.runs.values() if run["job_id"] == job)
        return [at(run["finished_at"]) for run in own if run["finished_at"]]

    def _timed(self, name: str, step: str) -> bool:
        """Whether a job of a workflow has a time of its own, or may wait elsewhere."""
        puts = [done for done in self.done[name.partition(".")[0]] if done.operation.what == "put"]
        given = {} if len(puts) != 1 else puts[0].operation.more["body"]["jobs"].get(step, {})
        limited = any(given.get("job", {}).get(name) for name in ("concurrency", "rate", "breaker"))
        return len(puts) != 1 or limited or bool(given.get("not_before"))

    def _ends_in_time(self) -> Iterator[Finding]:
        """A workflow's run ends once its jobs have; one that is not to run is not waited for."""
        for name, run in self._flows():
            steps, local = self._steps(run), name.partition(".")[2]
            puts = [done for done in self.done[run["job_id"]] if done.operation.what == "put"]
            paused = any(done.operation.what == "pause" for each in steps for done in self.done[each])
            if run["finished_at"] is None or not self._steady(name, steps) or len(puts) != 1 or paused:
                continue
            over, last = at(run["finished_at"]), self._asked_of(run)
            ends = [
                at(each["finished_at"]) for each in steps.values() if each["finished_at"] and not each["carried_over"]
            ]
            calls = [one.until for each in steps for one in self.calls.get(f"{each}.{local}", [])]
            since = max([last, *ends, *calls])
            if over > since + PROMPT_SECONDS:
                yield (
                    "a workflow's run ends with its last job",
                    f"{name} {run['state']} ({run['code']}) at {over - START:.2f}, {since - START:.2f}: {_states(run)}",
                )

    def _deadlines(self) -> Iterator[Finding]:
        """A workflow's run ends by its deadline; where its worker died, once its message has come again."""
        again = max(
            each.settings.visibility_seconds for each in self.world.lanes if each.settings.visibility_seconds < 600
        )
        for name, run in self._flows():
            puts = [done for done in self.done[run["job_id"]] if done.operation.what == "put"]
            hidden = sum(fault.kind.startswith("dies") for fault in self.plan.faults)
            other = [fault for fault in self.plan.faults if not fault.kind.startswith("dies")]
            conditions = self.plan.conditions
            if len(puts) != 1 or other or conditions.outage or conditions.stale or conditions.skew or hidden > 1:
                continue
            if self._touched_after(name, self._steps(run)) or run["finished_at"] is None:
                continue
            seconds = puts[0].operation.more["body"]["deadline_seconds"]
            begun = self._begun(run)
            limit = begun + max(seconds, hidden * (again + 15)) + 10
            if at(run["finished_at"]) > limit and run["attempts"] <= 2:
                yield (
                    "a workflow's run ends by its deadline",
                    f"{shown(run)}, begun at {begun - START:.1f}, deadline_seconds {seconds}",
                )

    def _begun(self, run: dict[str, Any]) -> float:
        """When a workflow's run began first."""
        return at(run["started_at"]) if run["started_at"] else self._asked_of(run)

    def _deleted_workflows(self) -> Iterator[Finding]:
        """No job of a deleted workflow's run starts."""
        for workflow in self.result.workflows:
            puts = [done for done in self.done[workflow] if done.operation.what == "put"]
            for done in self.done[workflow]:
                if done.operation.what != "delete" or not done.reply.accepted or self.plan.conditions.outage:
                    continue
                # The clocks of the API and of a worker may differ in both directions, and a worker that decided before
                # the cancellation may wait for the instant of a rate.
                apart = 2 * self.skew + PROMPT_SECONDS
                limit = done.reply.answered + apart + (PROMPT_SECONDS if self.undisturbed else 30)
                again = min((put.reply.asked for put in puts if put.reply.answered > done.reply.asked), default=1e12)
                names = {name for put in puts for name in put.operation.more["body"]["jobs"]}
                locals_ = {
                    each.reply.document["id"].partition(".")[2]
                    for each in self.done[workflow]
                    if each.operation.what in ("run", "rerun") and each.reply.accepted
                }
                for run, calls in self.calls.items():
                    job, _, local = run.partition(".")
                    if job not in names or local not in locals_ or self.redrives(run):
                        continue
                    for call in calls:
                        if limit < call.began < again and call.attempt == 1:
                            yield (
                                "a deleted workflow's run starts nothing",
                                f"{told(call)}, {workflow} was deleted at {done.reply.answered - START:.1f}",
                            )

    def _redriven_workflows(self) -> Iterator[Finding]:
        """The redrive of a workflow's run redrives its dead jobs."""
        if self.plan.conditions.outage:
            return
        for name, run in self._flows():
            local, steps = name.partition(".")[2], self._steps(run)
            whole = [done for done in self.done[run["job_id"]] if done.operation.what == "redrive" and done.run == name]
            stops = {done.operation.what for job in (run["job_id"], *steps) for done in self.done[job]} & {
                "cancel",
                "delete",
                "pause",
                "patch",
                "replace",
            }
            puts = [done for done in self.done[run["job_id"]] if done.operation.what == "put"]
            if stops or len(puts) != 1 or run["code"] == "workflow.deadline":
                continue
            for done in whole:
                before = done.seen["finished_at"]
                if not done.reply.accepted or before is None or done.seen["code"] == "workflow.deadline":
                    continue
                for each, step in steps.items():
                    died = step["finished_at"] if step["state"] == "DEAD" and not step["carried_over"] else None
                    calls = self.calls.get(f"{each}.{local}", [])
                    # The clocks of the workers differ: a step that died again may seem to have died before.
                    again = any(call.began >= done.reply.asked for call in calls)
                    if died is not None and at(died) < at(before) and calls and not again:
                        yield (
                            "the redrive of a workflow's run redrives its dead jobs",
                            f"{each} of {name} died at {at(died) - START:.1f}: {shown(run)}, {_states(run)}",
                        )


def _before(step: str, steps: Any) -> set[str]:
    """All jobs that a job of a workflow comes after: one that is skipped has no time of its own."""
    found: set[str] = set()
    while more := {other for each in (found or {step}) for other in steps[each]["after"]} - found:
        found |= more
    return found


def _states(run: dict[str, Any]) -> str:
    return ", ".join(
        f"{each['id']} {each['state']} ({each['reason']}) {each['when']} {each['after']}" for each in run["jobs"]
    )
