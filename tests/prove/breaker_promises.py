"""What docs/runs.md promises of circuit breakers and of held keys, checked against what was observed of a history.

While a breaker is open, no attempt with its key reaches the target; after it, one at a time does. The tolerances are
those of the code. Copies of messages have none: becoming the probe is a conditional write. An attempt may begin as long
after the opening as its worker needs from the read to the call (`_lag`): it may hold the start of a rate, and the read
is not strongly consistent. If clocks differ by up to 5 s, the worker that opens the breaker and the one that reads it
differ by 10 s. Each key has its own breaker, so a target that is called with two keys is tested twice. With faults, the
outcome of a call may not be counted, so only holds and the ends of runs are checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.prove.breaker_model import NEAR_SECONDS, BreakerModel
from tests.prove.draw import at
from tests.prove.key_promises import STALL_SECONDS, TURN_SECONDS, KeyPromises
from tests.prove.operations import Done
from tests.prove.plan import START
from tests.prove.promises import Finding, shown, told
from tests.prove.targets import ADDRESS, TargetCall

RATE_SECONDS = 2.5
"""A worker that has counted the start of a rate may hold it so long."""

STALE_SECONDS = 1.0
"""So old is what a read may show that is not strongly consistent."""

WORKERS = 4
"""So many invocations of a lane's function run at once at most, and each may handle one message only."""

KINDS = ("concurrency", "rate")
"""What else may have a key."""

RETRY_SECONDS = 10.0
"""The longest pause between two attempts, in plans with circuit breakers."""


class BreakerPromises(KeyPromises):
    """All that is promised of jobs, workflows and keys, and what is promised of circuit breakers."""

    def findings(self) -> Iterator[Finding]:
        """What contradicts the promises."""
        yield from super().findings()
        if self.result.storm:
            return
        yield from self._unused_attempts()
        yield from self._holds()
        if self.plan.faults:
            return
        for key, jobs in self._guarded().items():
            yield from self._breaker(key, jobs)

    def _guarded(self) -> dict[str, list[str]]:
        """By the key of a breaker, the jobs that always have it."""
        found: dict[str, list[str]] = {}
        for job in {call.job for call in self.world.targets.calls}:
            keys = {_key_of(job, each) for each in self.definitions(job)}
            if len(keys) == 1 and (key := keys.pop()) is not None:
                found.setdefault(key, []).append(job)
        return found

    def _of_key(self, key: str, *whats: str) -> list[Done]:
        return [done for done in self.done.get(key, ()) if done.operation.what in whats]

    def _lag(self, jobs: list[str]) -> float:
        """How long before its call a worker may have read the breaker, where no request is slow."""
        rated = any(each.get("rate") for job in jobs for each in self.definitions(job))
        stale = self.plan.conditions.stale is not None
        return NEAR_SECONDS + (RATE_SECONDS if rated else 0.0) + (STALE_SECONDS if stale else 0.0)

    def _unused_attempts(self) -> Iterator[Finding]:
        """A run that waits uses no attempt: each attempt is a call, except one whose key cannot be rendered."""
        guarded = {job for jobs in self._guarded().values() for job in jobs}
        for name, run in self.result.runs.items():
            calls = self.calls.get(name, [])
            if self.plan.faults or run["job_id"] not in guarded or self.recreated(run["job_id"]):
                continue
            called = run["attempts"] - (run["code"] == "bad_template")
            if called != max([call.attempt for call in calls], default=0) or called != len(calls):
                yield "a run that waits uses no attempt", f"{shown(run)}; calls: {[told(call) for call in calls]}"

    def _holds(self) -> Iterator[Finding]:
        """No attempt with a key starts while an operator holds it: with a breaker, a rate or a concurrency key."""
        called = {call.job: self.definitions(call.job) for call in self.world.targets.calls}
        for key in sorted({each.job for each in self.plan.operations if each.what == "hold"}):
            jobs = [job for job, given in called.items() if all(key in _keys_of(job, each) for each in given)]
            margin = 2 * self.skew + (STALL_SECONDS if self.plan.faults else self._lag(jobs))
            ends = [done.reply.asked for done in self._of_key(key, "close")]
            for done in self._of_key(key, "hold"):
                begin, until = done.reply.answered, done.reply.asked + done.operation.more["seconds"]
                until = min([until - 2 * self.skew, *(each for each in ends if each > done.reply.asked)])
                for call in self.world.targets.calls:
                    if done.reply.accepted and call.job in jobs and begin + margin < call.began < until - 0.01:
                        text = f"{told(call)}, held from {begin - START:.2f} to {until - START:.2f}"
                        yield "a held key starts no attempt", text

    def _breaker(self, key: str, jobs: list[str]) -> Iterator[Finding]:
        rules = {
            tuple(each["breaker"].get(name) for name in ("failures", "open_seconds")) for each in self._given(jobs)
        }
        others = [job for job in self.result.jobs if job not in jobs and self._may_have(job, key)]
        if len(rules) != 1 or others or any(done.operation.more.get("breaker") for done in self._of_key(key, "limit")):
            return
        failures, open_seconds = rules.pop()
        model = BreakerModel(failures, open_seconds, self.skew, self._lag(jobs))
        calls = sorted((each for each in self.world.targets.calls if each.job in jobs), key=lambda each: each.began)
        model.play(calls, self._of_key(key, "hold", "close"))
        for call, phase in model.wrong:
            until = f"open until {phase.until - START:.2f}"
            if phase.testing:
                yield "one attempt at a time tests the target", f"{told(call)}; {until}"
            else:
                yield "no attempt starts while its circuit breaker is open", f"{told(call)}; {until}"
        if self.calm and not self.plan.conditions.doubled and not self.plan.conditions.stale:
            yield from self._in_time(model, jobs)
            yield from self._shown(model, key, jobs)

    def _given(self, jobs: list[str]) -> list[dict[str, Any]]:
        return [each for job in jobs for each in self.definitions(job)]

    def _may_have(self, job: str, key: str) -> bool:
        return any(_key_of(job, each) == key for each in self.definitions(job))

    def _is_simple(self, job: str) -> bool:
        """Whether the runs of a job wait for nothing but their circuit breaker."""
        whats = {done.operation.what for done in self.done[job]}
        return whats <= {"create", "run", "look"} and not any(
            each["overlap"] != "allow" or any(each.get(name) for name in ("concurrency", "rate", "completion"))
            for each in self.definitions(job)
        )

    def _in_time(self, model: BreakerModel, jobs: list[str]) -> Iterator[Finding]:
        """Attempts start at once if the breaker is closed, and otherwise soon after it was open or tested."""
        for call, since, due in self._dues(jobs):
            # Its message, or the one for its next attempt, was handled in one of these phases.
            tries = [model.at(since - NEAR_SECONDS), *model.between(since - NEAR_SECONDS, due + TURN_SECONDS)]
            later = model.between(since - NEAR_SECONDS, call.began - NEAR_SECONDS)
            if not all(each.known for each in (*tries, *later)):
                continue
            closed = all(each.closed for each in tries)
            limit = TURN_SECONDS + (due if closed else max(due, *(each.tried for each in (*tries, *later))))
            if call.began > limit and not self._is_busy(since, limit):
                text = f"{told(call)}, due at {due - START:.2f}, expected by {limit - START:.2f}"
                yield "a run starts once its circuit breaker lets it", text

    def _is_busy(self, begin: float, end: float) -> bool:
        """Whether all workers may have been at work at once, so that a message waited in its lane."""
        calls = [call for call in self.world.targets.calls if call.began < end and call.until > begin]
        return any(
            sum(each.began <= call.began < each.until + NEAR_SECONDS for each in calls) >= WORKERS for call in calls
        )

    def _dues(self, jobs: list[str]) -> Iterator[tuple[TargetCall, float, float]]:
        """The calls of these jobs, each with the instants between which it was due."""
        asked = self._asked()
        for calls in self.calls.values():
            run = self.result.runs.get(calls[0].run)
            if calls[0].job not in jobs or not self._is_simple(calls[0].job) or run is None:
                continue
            due = max(at(run["due"]), asked.get(run["id"], 0.0))
            yield calls[0], due, due
            for before, call in pairwise(calls):
                yield call, before.until, before.until + RETRY_SECONDS

    def _shown(self, model: BreakerModel, key: str, jobs: list[str]) -> Iterator[Finding]:
        """A run that waits for a breaker says so, and the key shows its state."""
        for job in jobs:
            for done in self._of_key(job, "look") if self._is_simple(job) else ():
                now = done.reply.asked
                phase = model.at(now - TURN_SECONDS)
                if not done.reply.accepted or not phase.known or not phase.until or phase is not model.at(now):
                    continue
                for run in done.reply.document["items"]:
                    waits = at(run["due"]) < now - TURN_SECONDS and self._due_again(run) < now - TURN_SECONDS
                    told_so = (run["waiting_for"], run["breaker_key"]) == ("breaker", key) and run["next_attempt_at"]
                    if waits and not told_so:
                        yield "a waiting run shows its circuit breaker", f"at {now - START:.2f}: {shown(run)}"
        for done in self._of_key(key, "look-key"):
            now = done.reply.asked
            phase = model.at(now - NEAR_SECONDS)
            if done.reply.status not in (200, 404) or not phase.known or phase is not model.at(now + NEAR_SECONDS):
                continue
            state = "closed" if not phase.until else "half_open" if now > phase.until else "open"
            seen = "closed" if done.reply.status == 404 else done.reply.document["breaker_state"]
            if seen != state and not phase.until - 1 < now < phase.until + 3:
                yield "a key shows the state of its circuit breaker", f"at {now - START:.2f}: {seen}, not {state}"

    def _due_again(self, run: dict[str, Any]) -> float:
        """When the next attempt of a run that was seen is due at the latest."""
        calls = [call for call in self.calls.get(run["id"], []) if call.attempt <= run["attempts"]]
        return calls[-1].until + RETRY_SECONDS if calls else max(at(run["due"]), self._asked().get(run["id"], 0.0))


def _keys_of(job: str, definition: dict[str, Any]) -> set[str | None]:
    """The keys of a job of every kind."""
    found = {_key_of(job, definition)}
    return found | {_rendered(definition[kind]["key"], job, definition) for kind in KINDS if definition.get(kind)}


def _key_of(job: str, definition: dict[str, Any]) -> str | None:
    """The key of the circuit breaker of a job, if it has one."""
    if definition.get("breaker") is None:
        return None
    template = definition["breaker"]["key"]
    return ADDRESS.rpartition("/")[2] if template is None else _rendered(template, job, definition)


def _rendered(template: str, job: str, definition: dict[str, Any]) -> str:
    to = (definition.get("payload") or {}).get("to")
    return template.replace("{{payload.to}}", str(to)).replace("{{job_id}}", job)
