"""What the documentation promises of jobs and runs, checked against what was observed of a history."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any

from tests.prove.draw import at
from tests.prove.history import Result, final
from tests.prove.operations import Done
from tests.prove.pause_promises import PausePromises, only_paused
from tests.prove.plan import START
from tests.prove.targets import TargetCall

Finding = tuple[str, str]
"""The promise, and what was seen instead."""

SLACK = 0.01
LATE_REQUEST_SECONDS = 90
"""Within which a worker may still make a call that it had decided on: its requests may be slow, and are repeated."""

LEASE_SECONDS = 60
"""More than any retry of a plan waits, and less than passes before the attempt of a dead worker is repeated."""

LOOKS_SECONDS = 10
"""A run that waits is the subject of a message in so many seconds at most, on average."""

RESUMED_SECONDS = 600
"""How long after its end a pause may last: ticks may be missing for five minutes."""

FAIR_VERDICTS = {"fired", "skipped", "paused", "cancelled"}


class Promises:
    """All checks; each yields what contradicts it."""

    def __init__(self, result: Result) -> None:
        self.result = result
        self.plan = result.world.plan
        self.world = result.world
        self.skew = self.plan.conditions.skew
        self.calls: dict[str, list[TargetCall]] = defaultdict(list)
        for call in sorted(self.world.targets.calls, key=lambda each: each.began):
            self.calls[call.run].append(call)
        self.done: dict[str, list[Done]] = defaultdict(list)
        for done in result.operator.done:
            self.done[done.operation.job].append(done)
        self.undisturbed = not self.plan.faults and not self.plan.conditions.doubled
        conditions = self.plan.conditions
        self.calm = self.undisturbed and not conditions.outage and not conditions.ticks_out and not self.skew

    def findings(self) -> Iterator[Finding]:
        """What contradicts the promises, most telling first."""
        if self.result.storm:
            yield from self.about_each_run()
            yield from self.storm()
            return
        yield from self.answers()
        yield from self.quiet()
        yield from self.attempts()
        yield from self.keys()
        yield from self.early()
        yield from self.overlap()
        yield from self.ends()
        yield from self.complete()
        yield from PausePromises(self.result, self.done).findings()
        yield from self.accepted()
        yield from self.deaths()
        yield from self.bounds()
        yield from self.about_each_run()

    # The API and the functions.

    @property
    def _slow_buckets(self) -> bool:
        return any(
            each.kind == "slow" and each.function == "api" and each.operation == "UpdateItem/jobs"
            for each in self.world.plan.faults
        )

    def answers(self) -> Iterator[Finding]:
        """The API answers each request with what it documents, and functions do not fail by themselves."""
        for asked in self.world.asked:
            if asked.reply.status == 500 or (self.undisturbed and (asked.reply.status or 999) >= 500):
                yield (
                    "the API answers",
                    f"{asked.method} {asked.path} {asked.body}: {asked.reply.status} {asked.reply.document}",
                )
            # A slow write stores an earlier time of its writer than a later one, by which other clocks are corrected.
            if asked.reply.status == 429 and not (self.skew and self._slow_buckets):
                yield "no request below the limit is refused", f"{asked.method} {asked.path}: {asked.reply.document}"
        for error in self.world.functions.errors:
            if self.undisturbed or error[1] in ("api", "callbacks"):
                yield "functions do not fail by themselves", f"at {error[0] - START:.1f} {error[1]}: {error[2]}"
        for unread in self.result.unread:
            yield "the API answers", unread
        deleted = any(operation.what == "delete" for operation in self.plan.operations)
        every = [done for each in self.done.values() for done in each]
        created = [done.reply for done in every if done.operation.what == "create"]
        unsure = not all(reply.accepted for reply in created)
        for operation, reply in ((done.operation, done.reply) for done in every):
            early = any(other.answered > reply.asked for other in created)
            if operation.what == "put" and (deleted or unsure or early):
                continue  # it may name a job that was deleted in this moment, or was not created, or not yet
            if reply.status in (400, 405, 415, 422) and operation.what not in ("backfill", "skip-next", "patch"):
                yield "the harness asks correctly", f"{operation}: {reply.document}"

    # Rest.

    def quiet(self) -> Iterator[Finding]:
        """The stage comes to rest once no more runs are due."""
        if not self.result.drained:
            left = {queue.settings.name: len(queue.messages) for queue in self.world.lanes if queue.messages}
            yield "the stage comes to rest", f"messages left: {left}, e.g. {_example(self.world.lanes)}"
        elif self.result.restless > 0:
            yield "the stage remains at rest", f"{self.result.restless} messages sent after it had come to rest"

    def bounds(self) -> Iterator[Finding]:
        """Messages and requests are bounded by the runs that there are, and by the occurrences that were sent although
        they left no record, since their job was paused before they were due. The ends of a workflow's jobs are messages
        to its run.
        """
        runs = {*self.result.runs, *self.world.cloud.observed.about}
        ends = Counter(local_of(call.run) for calls in self.calls.values() for call in calls)
        of_jobs: Counter[str] = Counter()
        for name in self.result.graphs:
            workflow, _, local = name.partition(".")
            of_jobs[workflow] += ends[local]
        for job, count in Counter(run.partition(".")[0] for run in runs).items():
            sent = sum(number for (name, _), number in self.world.cloud.observed.sends.items() if name == job)
            attempts = of_jobs[job] + sum(len(calls) for calls in self.calls.values() if calls[0].job == job)
            asked = len(self.done[job]) + len(self.world.plan.faults) * 16
            reports = sum(run.startswith(f"{job}.") for run, _, _ in self.result.operator.callbacks)
            starts = self.world.cloud.observed.starts
            started = sum(max(starts[run], 1) for run in runs if run.partition(".")[0] == job)
            bound = 4 * started + 6 * attempts + 4 * reports + 10 * asked + 20  # a heartbeat moves a deadline
            if any(each.get("breaker") for each in self.definitions(job)):  # whose runs look at it again and again
                bound += sum(
                    int((times[-1] - times[0]) / LOOKS_SECONDS)
                    for run, times in self.world.cloud.observed.about.items()
                    if run.partition(".")[0] == job
                )
            if any(each.get("completion") == "end" for each in self.definitions(job)):  # whose runs may last for hours
                bound += int((self.world.simulation.now - START) / LOOKS_SECONDS)
            bound = int(bound * self._of_copies(job))
            if sent > bound:
                yield (
                    "messages are bounded",
                    f"{sent} messages of {job} for {count} runs, {attempts} attempts (<= {bound})",
                )

    def about_each_run(self) -> Iterator[Finding]:
        """Messages about a run are bounded by its attempts, what was asked of it, and how long it waits: one that waits
        in a queue, or for a resumption, is looked at again from time to time. A death counts as an attempt. The ends of
        a workflow's jobs lead to messages about the others; a message that comes twice may be answered twice, and each
        of several messages that start the run looks again. Under a key whose jobs have different limits, each end of
        another run wakes the first run of the queue, although its own limit may still be reached.
        """
        puts = (done.operation for each in self.done.values() for done in each if done.operation.what == "put")
        jobs = max((len(put.more["body"]["jobs"]) for put in puts), default=0)
        ends = Counter(local_of(call.run) for calls in self.calls.values() for call in calls)
        asked = Counter(str(done.run) for each in self.done.values() for done in each)
        asked.update(run for run, _, _ in self.result.operator.callbacks)
        for run, sent in self.world.cloud.observed.about.items():
            attempts = max(self.result.runs.get(run, {}).get("attempts", 0), len(self.calls.get(run, ())))
            others = jobs + ends[local_of(run)] if jobs else 0
            lasts = sent[-1] - sent[0]
            looks = max(self.world.cloud.observed.starts[run], 1) * lasts / LOOKS_SECONDS
            bound = 10 + 5 * attempts + 4 * asked[run] + 2 * others + looks
            bound += self._ends_under_other_limits(run, sent[0], sent[-1])
            bound *= self._of_copies(run.partition(".")[0]) * (2 if self.plan.conditions.doubled else 1)
            bound += 16 * len(self.plan.faults)
            if len(sent) > bound:
                text = f"{attempts} attempts, {asked[run]} requests, in {lasts:.0f} s"
                yield "messages about a run are bounded", f"{len(sent)} of {run}: {text} (<= {bound:.0f})"

    def _ends_under_other_limits(self, run: str, since: float, until: float) -> int:
        """How many attempts of runs ended in the meantime whose jobs have a key with another limit than the run's."""
        own = self._key_limits(run.partition(".")[0])
        others = {job for job in self.done if own and self._key_limits(job) - own}
        ends = (call.until for calls in self.calls.values() for call in calls if call.job in others)
        return sum(since <= end <= until for end in ends)

    def _key_limits(self, job: str) -> set[int]:
        keys = (each["concurrency"] for each in self.definitions(job) if each.get("concurrency"))
        return {int(each.get("limit", 1)) for each in keys}

    def _of_copies(self, job: str) -> float:
        """How many messages a message about a step of the job may become, because copies come twice. A step of a paused
        job has no record: each of its messages looks again after half of the time that it has waited.
        """
        times = [times for run, times in self.world.cloud.observed.about.items() if run.partition(".")[0] == job]
        if not times or job not in {each.job for each in self.plan.operations if each.what == "pause"}:
            return 1
        looks = math.log(1 + max(each[-1] - each[0] for each in times) / 2, 1.5)
        return (1 + self.plan.conditions.doubled) ** looks

    def storm(self) -> Iterator[Finding]:
        """The history was broken off."""
        minutes = {minute - int(START // 60): number for minute, number in self.world.cloud.observed.requests.items()}
        held = {queue.settings.name: len(queue.messages) for queue in self.world.lanes if queue.messages}
        sends = {
            f"{job}, minute {minute - int(START // 60)}": number
            for (job, minute), number in self.world.cloud.observed.sends.items()
        }
        yield "requests are bounded", f"by minute: {minutes}; messages held: {held}; sent: {sends}"

    # Attempts.

    def attempts(self) -> Iterator[Finding]:
        """One attempt at a time, each once, as many as allowed, as long after each other as asked."""
        for run, calls in self.calls.items():
            for before, after in pairwise(calls):
                if after.attempt == before.attempt:
                    yield "an attempt is made once", f"{told(before)} and {told(after)}"
                if after.began < min(before.until, self.alive_until(before)) - SLACK:
                    yield "one attempt at a time", f"{told(before)} and {told(after)}"
            job = calls[0].job
            definitions = self.definitions(job)
            allowances = 1 + self.redrives(run)
            once = all(each.get("delivery") == "at_most_once" for each in definitions)
            most = max([each.get("retry", {}).get("max_attempts", 4) for each in definitions], default=100)
            most = allowances * (1 if once else most)
            if len(calls) > most:
                yield "attempts are bounded", f"{run} was called {len(calls)} times, at most {most} were allowed"
            answered = any(name == run for name, _, _ in self.result.operator.callbacks)  # a program may be faster
            for call, following in pairwise(calls):
                if following.began - call.until > LEASE_SECONDS and self.plan.faults:
                    continue  # its worker died before it could record the end of the attempt
                if call.outcome in ("refuses", "forbids") and not self.redrives(run) and not answered:
                    yield "a refusal is final", f"{told(call)}, then {told(calls[-1])}"
            yield from self._pauses_between(run, calls, definitions)

    def _pauses_between(
        self, run: str, calls: list[TargetCall], definitions: list[dict[str, Any]]
    ) -> Iterator[Finding]:
        least = min([each.get("retry", {}).get("min_seconds", 2) for each in definitions], default=0)
        if self.redrives(run) or calls[0].callback_token is not None:
            return
        for before, after in pairwise(calls):
            if before.outcome not in ("died", "open") and after.began < before.until + least - 2 * self.skew - SLACK:
                yield "retries wait", f"{told(before)}, then {told(after)}, though min_seconds is {least}"

    def early(self) -> Iterator[Finding]:
        """Nothing starts before it is due."""
        for run, calls in self.calls.items():
            parts = run.split(".")
            if len(parts) == 2 and calls[0].began < at(parts[1]) - self.skew - SLACK:
                yield "never early", f"{told(calls[0])}, due at {at(parts[1]) - START:.0f}"

    def keys(self) -> Iterator[Finding]:
        """An occurrence has the same idempotency key however it is started, unless a new key is forced."""
        for run, calls in self.calls.items():
            named = re.sub(r"\.b[A-Za-z0-9_-]+$", "", run)
            for call in calls:
                if call.key.partition("/")[2] != named:
                    yield "an occurrence has one idempotency key", f"{told(call)} with {call.key}"

    # Overlap.

    def overlap(self) -> Iterator[Finding]:
        """Runs of a job exclude each other unless it allows overlap or is to run only once. With a limit, at most that
        number of them is active.
        """
        by_job: dict[str, list[TargetCall]] = defaultdict(list)
        for call in self.world.targets.calls:
            by_job[call.job].append(call)
        for job, calls in by_job.items():
            definitions = self.definitions(job)
            if any(each.get("overlap") == "allow" or _once(each) for each in definitions) or self.recreated(job):
                continue
            limits = [each["overlap"].get("allow", 1) for each in definitions if isinstance(each.get("overlap"), dict)]
            limit = max(limits, default=1)
            calls.sort(key=lambda each: each.began)
            for number, later in enumerate(calls):
                earlier = [each for each in calls[:number] if later.began < self.alive_until(each) - SLACK]
                others = {each.run: told(each) for each in earlier if each.run != later.run}
                if len(others) >= limit:
                    yield "runs of a job exclude each other", f"{' and '.join(others.values())} and {told(later)}"

    def alive_until(self, call: TargetCall) -> float:
        """Until when an attempt certainly lasts."""
        if call.callback_token is None:
            return call.until
        ends = [
            reply.asked
            for run, word, reply in self.result.operator.callbacks
            if run == call.run and word != "heartbeat"
        ]
        of_run = [done for done in self.done[call.job] if done.run == call.run]
        ends += [done.reply.asked for done in of_run]
        # A cancellation may arrive after the start: its message is delivered again after a fault.
        earlier = [done for done in of_run if done.operation.what == "cancel" and done.reply.asked <= call.began]
        ends += [call.until] if earlier else []
        ends += [done.reply.asked for done in self.done[call.job] if _may_end_calls(done)]
        shortest = [
            min(each.get("completion_seconds") or 10, each.get("heartbeat_seconds") or 10)
            for each in self.definitions(call.job)
        ]
        replaces = any(each.get("overlap") == "replace" for each in self.definitions(call.job))
        ends += [call.until] if replaces or call.outcome != "succeeds" else []
        execution = self.world.machines.of(call)
        ends += [] if execution is None else [max(execution.until, call.began + SLACK)]
        run = self.result.runs.get(call.run)
        if run is not None and run["workflow"] is not None and run["finished_at"] and run["attempts"] == call.attempt:
            # Its workflow's run may have ended it. The clock that shows this may be ahead.
            ends.append(max(at(run["finished_at"]) - self.skew, call.began + SLACK))
        began = min(
            call.began, self._recorded_start(call)
        )  # its start is recorded before its call, which a fault may delay
        return min([each for each in ends if each > call.began] + [began + min(shortest) - 2 * self.skew])

    def _recorded_start(self, call: TargetCall) -> float:
        """The recorded start of a call's attempt, if it was the last one of its run; else that of the call."""
        run = self.result.runs.get(call.run)
        if run is None or run["attempts"] != call.attempt or run["started_at"] is None:
            return call.began
        return datetime.fromisoformat(run["started_at"]).timestamp()

    # Ends.

    def ends(self) -> Iterator[Finding]:
        """Each run ends, in a state that agrees with what was seen of it."""
        for name in self.result.doubled:
            yield "a run has one record", name
        for name, run in self.result.runs.items():
            calls = self.calls.get(name, [])
            if not final(run):
                yield "each run ends", f"{shown(run)}; calls: {[told(call) for call in calls]}"
            if run["state"] == "SKIPPED" and calls and run["workflow"] is None:
                yield "a skipped run is not called", f"{shown(run)}; calls: {[told(call) for call in calls]}"
            calls_nothing = run["job_id"] in self.result.workflows
            if run["state"] == "SUCCEEDED" and not calls_nothing and not self.succeeded(name, calls):
                yield "success is a target's", f"{shown(run)}; calls: {[told(call) for call in calls]}"
            if (
                run["state"] == "DEAD"
                and run["reason"] == "attempts_exhausted"
                and not calls
                and run["workflow"] is None
            ):
                yield "attempts are made", f"{shown(run)} was never called"
            missed = run["state"] == "SKIPPED" and run["reason"] in ("missed", "superseded")
            if self.calm and missed and not self.changed(run["job_id"]):
                yield "nothing is missed in calm times", shown(run)
        for name, calls in self.calls.items():
            if name not in self.result.runs and self.result.jobs.get(calls[0].job) is not None:
                yield "a run that was called has a record", f"{told(calls[0])}"

    def succeeded(self, run: str, calls: list[TargetCall]) -> bool:
        """Whether a target or a program has said so. The job may be one with callbacks in some attempts only."""
        completed = any(name == run and word == "complete" for name, word, _ in self.result.operator.callbacks)
        completed = completed or any(each.status == "SUCCEEDED" for each in self.world.machines.of_run(run))
        return (
            completed
            or self.has_items(run)
            or any(call.outcome == "succeeds" and call.callback_token is None for call in calls)
        )

    def has_items(self, run: str) -> bool:
        """Whether it is the run of a step that runs once for each item of a list, and itself calls nothing."""
        job, _, local = run.partition(".")
        puts = (done for each in self.done.values() for done in each if done.operation.what == "put")
        lists = any(put.operation.more["body"]["jobs"].get(job, {}).get("for_each") for put in puts)
        return lists and local_of(run) == local

    # Completeness.

    def complete(self) -> Iterator[Finding]:
        """Each occurrence of a job has one record, or a reason why it has none."""
        for (job, instant), explained in self.result.explained.items():
            if explained["verdict"] not in FAIR_VERDICTS | self._excused(job):
                yield (
                    "no occurrence is lost",
                    f"{job} at {instant - START:.0f}: {explained['verdict']}, {explained['sentence']}",
                )
        for job, shown in self.result.jobs.items():
            if shown is None:
                continue
            if shown["error"]:
                yield "a healthy job stays in its schedule", f"{job}: {shown['error']}"
            if shown["state"] == "ACTIVE" and shown["schedule"] is not None and shown["next_occurrence"] is None:
                yield "a job whose schedule has ended is completed", f"{job} is ACTIVE"

    def _excused(self, job: str) -> set[str]:
        excused: set[str] = set()
        if self.changed(job):
            excused |= {"not_an_occurrence", "before_creation", "deleted", "completed"}
        if any(each.get("max_runs") for each in self.definitions(job)):
            excused.add("max_runs")
        if not only_paused(self.done[job]):
            excused.add("changed")
        return excused

    # What was accepted.

    def accepted(self) -> Iterator[Finding]:
        """An accepted request has its effect."""
        for each in self.done.values():
            for done in each:
                if done.reply.accepted:
                    yield from self._effect(done)

    def _effect(self, done: Done) -> Iterator[Finding]:
        reply, job = done.reply, done.operation.job
        later = [other for other in self.done[job] if other.reply.answered > reply.asked and other is not done]
        stopped = {other.operation.what for other in later if other.reply.status is None or other.reply.status < 300}
        match done.operation.what:
            case "run":
                run = reply.document["id"]
                found = self.result.runs.get(run)
                if found is None and not stopped & {"delete"} and self.result.jobs.get(job):
                    yield "a requested run has a record", f"{run}, requested at {reply.asked - START:.1f}"
            case "redrive":
                found = self.result.runs.get(str(done.run))
                if stopped & {"delete", "pause"} or done.seen["finished_at"] is None:
                    return
                if found is not None and found["finished_at"] == done.seen["finished_at"]:
                    died = at(done.seen["finished_at"]) - START
                    text = f"asked at {reply.asked - START:.1f}, died at {died:.1f}: {shown(found)}"
                    yield "an accepted redrive has its effect", text
            case "delete":
                later += [
                    other
                    for each in self.done.values()
                    for other in each
                    if other.operation.what == "put"
                    and other.reply.answered > reply.asked
                    and job in other.operation.more["body"]["jobs"]
                ]
                yield from self._after(done, later, {"create", "replace", "put"}, lambda _: True)
            case "pause":
                begin = reply.answered + self.skew
                resumed = [
                    other.reply.asked
                    for other in later
                    if other.operation.what in ("resume", "create", "replace", "delete")
                    or "seconds" in other.operation.more
                ]
                until = done.operation.more.get("until", float("inf"))
                end = min([*resumed, until - self.skew])
                if until < float("inf") and all(other.reply.status is not None for other in later) and not stopped:
                    yield from self._resumed(job, until)
                for run, calls in self.calls.items():
                    parts = run.split(".")
                    due = at(parts[1])
                    if calls[0].job == job and len(parts) == 2 and begin < due < calls[0].began < end - SLACK:
                        yield (
                            "a paused job does not start",
                            f"{told(calls[0])}, paused at {reply.answered - START:.1f}",
                        )

    def _resumed(self, job: str, until: float) -> Iterator[Finding]:
        """A pause with an end is over some minutes after it: the next tick may be lost."""
        shown = self.result.jobs.get(job)
        if shown is not None and shown["state"] == "PAUSED" and until + RESUMED_SECONDS < self.world.simulation.now:
            yield "a pause ends by itself", f"{job} is paused until {until - START:.1f}: {shown['paused_because']}"

    def _after(self, done: Done, later: list[Done], undone: set[str], concerned: Any) -> Iterator[Finding]:
        end = min([other.reply.asked for other in later if other.operation.what in undone], default=float("inf"))
        begin = done.reply.answered + (2 if self.undisturbed else LATE_REQUEST_SECONDS)
        for call in self.world.targets.calls:
            if call.job == done.operation.job and begin < call.began < end and concerned(call):
                yield (
                    f"nothing starts after {done.operation.what}",
                    f"{told(call)}, asked at {done.reply.asked - START:.1f}",
                )

    # Deaths.

    def _letter_deleted(self, run: dict[str, Any]) -> bool:
        """Whether the run's message was delivered twice, and the other delivery deleted it before the run died (Known
        gaps). A delivery that comes later knows the run as dead.
        """
        of_run = f'"job_id":"{run["job_id"]}"', f'"occurrence":{int(at(run["occurrence"]))}'
        died = at(run["finished_at"]) + self.skew  # by the clock of its worker
        return any(
            deleted < died and all(part in body for part in of_run)
            for lane in self.world.lanes
            for deleted, body in lane.copies_deleted
        )

    def deaths(self) -> Iterator[Finding]:
        """A dead run is announced, and its letter stays."""
        notices = [notice for _, notice in self.world.cloud.observed.notices if "attempts" in notice]  # those of deaths
        announced = {(notice["run_id"], notice["attempts"]) for notice in notices}
        letters = Counter[str]()
        for message in self.world.dead_letters.messages:
            for job in self.result.jobs:
                if f'"{job}"' in message.body:
                    letters[job] += 1
        dead = Counter[str]()
        for name, run in self.result.runs.items():
            if run["state"] == "DEAD" and run["workflow"] in (None, run["job_id"]):
                # The dead letter of a discarded run is removed; the deletion of its job discards it.
                dead[run["job_id"]] += run["discarded"] is None and not self._letter_deleted(run)
                if (name, run["attempts"]) not in announced:
                    yield "a death is announced", shown(run)
        for job, number in dead.items():
            if self.result.operator.redriven_messages and self.recreated(job):
                continue  # a run whose job was deleted cannot be redriven, so its letter leads to nothing
            if letters[job] < number:
                yield "a dead run has its dead letter", f"{job}: {number} dead runs, {letters[job]} letters"

    # What is known of a job.

    def definitions(self, job: str) -> list[dict[str, Any]]:
        """The bodies that it had, as far as they were sent."""
        bodies = [
            done.operation.more["body"] for done in self.done[job] if done.operation.what in ("create", "replace")
        ]
        puts = [
            done.operation.more["body"]["jobs"]
            for each in self.done.values()
            for done in each
            if done.operation.what == "put"
        ]
        bodies += [{"overlap": "allow"} | jobs[job]["job"] for jobs in puts if "job" in jobs.get(job, {})]
        patches = [done.operation.more["body"] for done in self.done[job] if done.operation.what == "patch"]
        return bodies + [bodies[0] | patch for patch in patches if bodies]

    def redrives(self, run: str, before: float = math.inf) -> int:
        """How often a run may have been redriven before an instant."""
        job = run.partition(".")[0]
        asked = sum(
            1
            for done in self.done[job]
            if done.reply.asked < before
            and ((done.run == run and done.operation.what == "redrive") or done.operation.what == "redrive-many")
        )
        whole = sum(
            1
            for each in self.done.values()
            for done in each
            if done.reply.asked < before
            and (
                (
                    done.run
                    and done.run != run
                    and local_of(done.run) == local_of(run)
                    and done.operation.what == "redrive"
                )
                # of its workflow
                or (done.operation.what == "redrive-many" and done.operation.job != job)
            )
        )
        return asked + whole + len(self.result.operator.redriven_messages)

    def changed(self, job: str) -> bool:
        return any(
            done.operation.what
            not in ("create", "run", "redrive", "redrive-many", "cancel", "skip-next", "console-redrive")
            or (done.operation.what == "create" and done.reply.status is None)
            for done in self.done[job]
        )

    def recreated(self, job: str) -> bool:
        return any(done.operation.what == "delete" for done in self.done[job])

    def loses_runs(self, job: str) -> bool:
        """Whether its policy may drop a run that waits."""
        return any(
            each.get("overlap") in ("newest", "replace") or each.get("start_deadline_seconds")
            for each in self.definitions(job)
        )


def _may_end_calls(done: Done) -> bool:
    """Whether an operation on a job may end its attempts that have begun, or allow another one meanwhile."""
    if done.operation.what == "cancel-many":
        return not {"RUNNING", "WAITING"}.isdisjoint(done.operation.more.get("state", ("RUNNING",)))
    return done.operation.what in ("delete", "pause")


def _once(definition: dict[str, Any]) -> bool:
    """Whether the schedule of a job is an instant."""
    return str(definition.get("schedule")).endswith("Z")


def local_of(run: str) -> str:
    """The part of a run's id that it has in common with the run of its workflow, also if it is that of an item or of a
    shared job."""
    return re.sub(r"(\.w[\w-]+)?(\.i\d+)?$", "", run.partition(".")[2])


def told(call: TargetCall) -> str:
    ended = "" if call.ended is None else f"-{call.ended - START:.2f}"
    return f"{call.run} attempt {call.attempt} at {call.began - START:.2f}{ended} ({call.outcome})"


def shown(run: dict[str, Any] | None) -> str:
    if run is None:
        return "no record"
    names = ("state", "reason", "attempts", "count", "started_at", "finished_at", "waiting_for", "code", "error")
    return f"{run['id']}: " + ", ".join(f"{name} {run[name]}" for name in names if run.get(name) is not None)


def _example(lanes: Any) -> str:
    return next((message.body[:300] for queue in lanes for message in queue.messages), "")
