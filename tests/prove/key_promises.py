"""What docs/runs.md promises of concurrency keys and rates, checked against what was observed of a history."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.prove.promises import SLACK, Finding, told
from tests.prove.targets import RETRY_AFTER_SECONDS, TargetCall
from tests.prove.workflow_promises import WorkflowPromises

TURN_SECONDS = 2.0
"""Within which the next run starts where nothing goes wrong: a second and a few slow requests."""

STALL_SECONDS = 30.0
"""How long a worker may need for a call after it has counted its start: its requests may be slow, and are repeated."""

ORDER_SECONDS = 1.0
"""Runs whose instants are closer may start in any order: a worker holds a message for so long."""


class KeyPromises(WorkflowPromises):
    """All that is promised of jobs and workflows, and what is promised of keys."""

    def findings(self) -> Iterator[Finding]:
        """What contradicts the promises."""
        yield from super().findings()
        if self.result.storm:
            return
        yield from self.key_limits()
        yield from self._rate()
        yield from self._key_pauses()
        asked = {operation.what for operation in self.plan.operations}
        if self.calm and asked <= {"create", "run", "redrive"}:
            yield from self._place_turns()
        if self.calm and asked <= {"create", "run", "limit"}:
            yield from self._key_turns()
            yield from self._rate_turns()

    def key_limits(self) -> Iterator[Finding]:
        """At most as many runs with a key are active as its highest limit allows, unless places are released."""
        if any(each.what == "release" for each in self.plan.operations):
            return
        limits, calls = self._limits()
        for number, later in enumerate(calls):
            earlier = [each for each in calls[:number] if later.began < self.alive_until(each) - SLACK]
            others = {each.run: told(each) for each in earlier if each.run != later.run}
            if len(others) >= max(limits):
                yield "runs keep the limit of their key", f"{' and '.join(others.values())} and {told(later)}"

    def _key_turns(self) -> Iterator[Finding]:
        """A run starts once a place of its key is free. A run that waits for its next attempt has no place."""
        limits, calls = self._limits()
        keyed = {call.job for call in calls}
        others = ("rate", "breaker", "completion", "schedule")
        given = [each for job in keyed for each in self.definitions(job)]
        if any(each["overlap"] != "allow" or any(each.get(name) for name in others) for each in given):
            return
        asked = self._asked()
        for call in calls:
            if call.attempt > 1 or call.run not in asked:
                continue
            idle = _idle(calls, min(limits), asked[call.run], call.began)
            if idle is not None:
                yield "the next run of a key starts when a place is free", f"{told(call)}, free for {idle:.2f}"

    def _place_turns(self) -> Iterator[Finding]:
        """A run of a job that limits its active runs starts once fewer are active, also after redrives."""
        others = ("rate", "breaker", "concurrency", "completion", "schedule")
        asked = self._asked()
        for job in sorted({call.job for call in self.world.targets.calls}):
            given = self.definitions(job)
            if any(not isinstance(each["overlap"], dict) or any(each.get(name) for name in others) for each in given):
                continue
            if any("allow" not in each["overlap"] or each["retry"]["max_attempts"] > 1 for each in given):
                continue
            limit = min(each["overlap"]["allow"] for each in given)
            calls = [call for call in self.world.targets.calls if call.job == job]
            for call in calls:
                if call.attempt > 1 or call.run not in asked:
                    continue
                idle = _idle(calls, limit, asked[call.run], call.began)
                if idle is not None:
                    yield "the next run of a job starts when a place is free", f"{told(call)}, free for {idle:.2f}"

    def _limits(self) -> tuple[list[int], list[TargetCall]]:
        """The limits of the keys in a plan, where 0 is that of a stored one without any, and the calls of jobs with a
        key: none if there are several keys.
        """
        definitions = {job: self.definitions(job) for job in {call.job for call in self.world.targets.calls}}
        keyed = {job for job, given in definitions.items() if given and all(each.get("concurrency") for each in given)}
        limits = [each["concurrency"]["limit"] for job in keyed for each in definitions[job]]
        limits += [each.more.get("concurrency") or 0 for each in self.plan.operations if each.what == "limit"]
        if len({_key_of(each, "concurrency") for job in keyed for each in definitions[job]}) > 1:
            return limits, []
        calls = sorted((each for each in self.world.targets.calls if each.job in keyed), key=lambda each: each.began)
        return limits, calls

    # Rates.

    def _rated(self) -> tuple[list[dict[str, int]], list[TargetCall]]:
        """The rates that a plan has, and the calls of its jobs with a rate: none if there are several keys."""
        definitions = {job: self.definitions(job) for job in {call.job for call in self.world.targets.calls}}
        rated = {job for job, given in definitions.items() if given and all(each.get("rate") for each in given)}
        found = [each["rate"] for job in rated for each in definitions[job]]
        if len({_key_of(each, "rate") for job in rated for each in definitions[job]}) > 1:
            return [], []
        found += [each.more["rate"] for each in self.plan.operations if each.what == "limit" and each.more.get("rate")]
        calls = sorted((each for each in self.world.targets.calls if each.job in rated), key=lambda each: each.began)
        return found, calls

    def _rate(self) -> Iterator[Finding]:
        """No window has more attempts than the fastest rate and the largest burst allow. A stored rate counts earlier
        attempts as one burst at most, so each of its changes allows another one."""
        rates, calls = self._rated()
        if not rates:
            return
        per_second = max(each["per_minute"] for each in rates) / 60
        stored = sum(each.what == "limit" for each in self.plan.operations)
        burst = max(each.get("burst", 1) for each in rates) * (1 + stored)
        stalls = any(not fault.kind.startswith("dies") for fault in self.plan.faults)
        margin = 2 * self.skew + (STALL_SECONDS if stalls else ORDER_SECONDS)
        for number, first in enumerate(calls):
            for count, last in enumerate(calls[number:], 1):
                if count > burst + per_second * (last.began - first.began + margin):
                    yield "attempts keep the rate of their key", f"{count} from {told(first)} to {told(last)}"
                    return

    def rate_allows(self, call: TargetCall) -> float:
        """From when on the rate of a call's job certainly allows it, according to the starts before it: each is used up
        after the interval of the slowest rate, and the smallest burst counts. Without a rate this is no limit.
        """
        rates, calls = self._rated()
        given = self.definitions(call.job)
        if not any(each.get("rate") for each in given):
            return -math.inf
        if not any(each.job == call.job for each in calls) or any(each.outcome == "throttles" for each in calls):
            return math.inf  # it may have several keys, or wait until the end of a pause
        interval, burst = 60 / min(each["per_minute"] for each in rates), min(each.get("burst", 1) for each in rates)
        used_up = -math.inf
        for each in calls:
            if each.began < call.began:
                used_up = max(used_up, each.began) + interval
        return used_up - (burst - 1) * interval

    def _key_pauses(self) -> Iterator[Finding]:
        """After 429 with Retry-After, no attempt with the key starts until then."""
        if not self.undisturbed or self.skew:
            return
        _, calls = self._rated()
        for asked in calls:
            if asked.outcome != "throttles":
                continue
            for call in calls:
                if asked.until + TURN_SECONDS < call.began < asked.until + RETRY_AFTER_SECONDS - SLACK:
                    yield "Retry-After pauses the key", f"{told(call)}, asked at the end of {told(asked)}"

    def _rate_turns(self) -> Iterator[Finding]:
        """Runs that wait for a rate start one interval after another, in the order in which they were requested."""
        rates, calls = self._rated()
        given = [each for job in {call.job for call in calls} for each in self.definitions(job)]
        paces = {each["per_minute"] for each in rates}
        limited = any(each.get("concurrency") or each.get("breaker") for each in given)
        bursts = {each.get("burst", 1) for each in rates}  # a run with a smaller one may wait for all others
        if len(paces) != 1 or len(bursts) != 1 or limited or any(each["overlap"] != "allow" for each in given):
            return
        if any(call.outcome == "throttles" for call in calls):
            return
        interval, burst, asked = 60 / paces.pop(), bursts.pop(), self._asked()
        firsts = [call for call in calls if call.attempt == 1 and call.run in asked]
        for call in firsts:
            since = asked[call.run]
            between = sum(since < other.began < call.began for other in calls)
            if between < (call.began - since - TURN_SECONDS) / interval - burst:
                yield "runs start at their rate", f"{told(call)}, {between} others since its request"
            for other in firsts:
                if since + TURN_SECONDS < asked[other.run] and other.began + ORDER_SECONDS < call.began:
                    yield "runs start in the order of their requests", f"{told(call)} and {told(other)}"

    def _asked(self) -> dict[str, float]:
        """When each requested run was requested."""
        return {
            done.reply.document["id"]: done.reply.answered
            for each in self.done.values()
            for done in each
            if done.operation.what == "run" and done.reply.accepted
        }


def _idle(calls: list[TargetCall], limit: int, begin: float, end: float) -> float | None:
    """How long a run that waits from `begin` to `end` did not start although fewer calls were in progress; None if it
    started in time."""
    edges = {edge for each in calls for edge in (each.began, each.until) if begin < edge < end}
    since = begin
    for at, following in pairwise(sorted({begin, end} | edges)):
        if sum(each.began <= at < each.until for each in calls) >= limit:
            since = following
        elif following - since > TURN_SECONDS:
            return following - since
    return None


def _key_of(definition: dict[str, Any], what: str) -> str:
    """A job's key of a kind."""
    return str(definition[what]["key"]).replace("{{payload.to}}", str(definition.get("payload", {}).get("to")))
