"""What the documentation promises of what follows from an end, checked against what was observed of a history: the ends
of executions (docs/runs.md#waiting-for-the-end-of-the-work), runs after other runs (docs/howto/after-another-job.md),
the items of a list (docs/workflows.md#items-of-a-list); and of rescheduled runs (docs/howto/delayed-run.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.prove.breaker_promises import BreakerPromises
from tests.prove.draw import at
from tests.prove.executions import ERROR, Execution
from tests.prove.history import final
from tests.prove.operations import Done
from tests.prove.plan import START
from tests.prove.promises import LATE_REQUEST_SECONDS, SLACK, Finding, shown, told
from tests.prove.targets import TargetCall

PROMPT_SECONDS = 2.0
"""Within which something follows from something else where nothing goes wrong: a second and a few slow requests."""

AGAIN_SECONDS = 60
"""After which an event is handled again: it may come before the worker has recorded the execution."""

HOUR = 3600
"""An execution whose event was lost is read within this time."""

MOST_IN_A_CHAIN = 16
"""How many runs follow one another at most."""

MOST_ITEMS = 1000
"""The most items of a list."""

CHANGEABLE_SECONDS = 10
"""A run that is due later than this can be rescheduled."""

DEFAULT_AT_ONCE = 10

RESCHEDULES = {"create", "run", "reschedule"}


class EndPromises(BreakerPromises):
    """All that is promised of jobs, workflows and keys, and what is promised of ends."""

    def findings(self) -> Iterator[Finding]:
        """What contradicts the promises."""
        yield from super().findings()
        if self.result.storm:
            return
        for execution in self.world.machines.executions.values():
            yield from self._one_at_a_time(execution)
            yield from self._stopped_if_unneeded(execution)
        for name, run in self.result.runs.items():
            if found := self.world.machines.of_run(name):
                yield from self._followed(run, found)
        yield from self._cancelled_executions()
        yield from self._successors()
        yield from self._chains()
        for name, run in self.result.graphs.items():
            for step in run["jobs"]:
                if step["has_items"] and not step["carried_over"]:
                    yield from self._items(name, step)
        yield from self._due()
        yield from self._rescheduled()

    # Executions.

    def _one_at_a_time(self, execution: Execution) -> Iterator[Finding]:
        """The next attempt of a run starts after the execution of the one before it."""
        for other in self.world.machines.of_run(execution.call.run):
            before, after = execution.call, other.call
            if before.began < after.began < execution.until - SLACK and not self.plan.faults:
                yield "an attempt starts after the execution of the one before it", f"{_told(execution)}, {told(after)}"

    def _followed(self, run: dict[str, Any], executions: list[Execution]) -> Iterator[Finding]:
        """A run ends with its execution, and as that does."""
        last = executions[-1]
        text = f"{shown(run)}; {', '.join(map(_told, executions))}"
        if run["attempts"] != last.call.attempt or run["finished_at"] is None:
            return
        over = at(run["finished_at"])
        if run["state"] == "SUCCEEDED" and (last.status != "SUCCEEDED" or over < last.until - self.skew - SLACK):
            yield "a run succeeds when its execution has", text
        if run["state"] == "DEAD" and last.status == "SUCCEEDED" and run["code"] == ERROR:
            yield "a run fails with the error of its execution", text
        if any(each.outcome == "forgotten" and each.stopped is None for each in executions[:-1]):
            unknown = [each for each in executions[:-1] if each.outcome == "forgotten" and each.ended]
            if not self.redrives(run["id"]) and unknown and self._within_deadline(unknown[0]) and self._undisturbed:
                yield "an unknown execution is not repeated", text
        if not self._undisturbed or self._asked_about(run) or run["workflow"] is not None:
            return
        deadline = self._deadline(last)
        expected = _expected(last)
        if last.until < deadline - PROMPT_SECONDS and expected is not None:
            state, code = expected
            if run["state"] != state or (run["code"] != code and code is not None):
                yield "a run ends as its execution does", f"{text}; {state} ({code}) is due"
            limit = self._told_by(last, deadline) + PROMPT_SECONDS
            if over > limit:
                yield "a run ends when its execution does", f"{text}; due by {limit - START:.1f}"
        elif last.until > deadline + PROMPT_SECONDS and over < deadline - SLACK:
            yield "a run waits for its execution until its deadline", text

    @property
    def _undisturbed(self) -> bool:
        return self.undisturbed and not self.skew and self.plan.conditions.stale is None

    def _asked_about(self, run: dict[str, Any]) -> bool:
        """Whether somebody acted on the run or its job, or a newer run may have replaced it."""
        others = {done.operation.what for done in self.done[run["job_id"]]} - {"create", "run"}
        return bool(others) or run["reason"] == "replaced" or self.loses_runs(run["job_id"])

    def _deadline(self, execution: Execution) -> float:
        """The earliest instant until which a run waits for an execution, which counts from its attempt's start."""
        given = [each["completion_seconds"] for each in self.definitions(execution.call.job) if "completion" in each]
        return execution.call.began + min(given, default=86400) - 1

    def _within_deadline(self, execution: Execution) -> bool:
        return execution.until < self._deadline(execution) - PROMPT_SECONDS

    def _told_by(self, execution: Execution, deadline: float) -> float:
        """When a worker knows the end of an execution for certain: by an event, within an hour, or at the deadline."""
        first = min((each for each in execution.events if each < deadline), default=None)
        last = max((each for each in execution.events if each < deadline), default=None)
        checked = min(
            execution.call.began + HOUR * (1 + int((execution.until - execution.call.began) / HOUR)), deadline
        )
        if first is None or last is None:
            return checked + 1 + PROMPT_SECONDS
        seen = execution.until + execution.lag
        sure = first > max(execution.call.began + 0.5, seen)
        return min(first if sure else last + AGAIN_SECONDS + PROMPT_SECONDS, checked + 1 + PROMPT_SECONDS)

    def _stopped_if_unneeded(self, execution: Execution) -> Iterator[Finding]:
        """No execution is left running once its run does not wait for it any more."""
        run = self.result.runs.get(execution.call.run)
        if self.plan.faults or run is None or execution.outcome != "stays" or execution.ended is not None:
            return
        if final(run):
            yield "no execution is left running", f"{_told(execution)}: {shown(run)}"

    def _cancelled_executions(self) -> Iterator[Finding]:
        """A cancellation stops the execution of a run that waits, and such a run shows its execution."""
        for done in (done for each in self.done.values() for done in each):
            if done.operation.what != "cancel" or not done.reply.accepted or done.seen["state"] != "WAITING":
                continue
            begun = [
                each for each in self.world.machines.of_run(str(done.run)) if each.call.began < done.reply.asked - 1
            ]
            if not begun:
                continue
            if not done.seen["execution"]:
                yield "a waiting run shows its execution", f"{done.run} at {done.reply.asked - START:.1f}"
            last, limit = begun[-1], done.reply.answered + PROMPT_SECONDS + 2 * self.skew
            if self.plan.faults or self.plan.conditions.doubled or last.until <= limit:
                continue
            yield "a cancellation stops the execution", f"{_told(last)}, asked at {done.reply.asked - START:.1f}"

    # Runs after other runs.

    def _rules_of(self, job: str) -> list[dict[str, str]] | None:
        """The rules of a job that nobody changed; None for another one."""
        given = self.definitions(job)
        changed = any(done.operation.what in ("delete", "replace", "patch", "put") for done in self.done[job])
        return None if changed or len(given) != 1 else given[0].get("then", [])

    def _successors(self) -> Iterator[Finding]:
        """Each end of a run starts the runs that its job's rules name, once, after it, and with its end as payload."""
        after: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for run in self.result.runs.values():
            if (before := _before(run)) is not None:
                after.setdefault((before, run["job_id"]), []).append(run)
                yield from self._started_after(self.result.runs.get(before), run)
        for name, run in self.result.runs.items():
            rules = self._rules_of(run["job_id"])
            if not rules or run["workflow"] is not None or not final(run):
                continue
            for job in {rule["job"] for rule in rules}:
                if self.result.jobs.get(job) is None or self.recreated(job):
                    continue
                found = after.get((name, job), [])
                wanted = any(_names(rule, run["state"]) for rule in rules if rule["job"] == job)
                least = int(wanted and run["state"] != "SKIPPED" and self._place(run) < MOST_IN_A_CHAIN)
                most = max(least, 1 if self.redrives(name) else 0) + self.redrives(name)
                if least and any(_names(rule, "DEAD") for rule in rules if rule["job"] == job):
                    least += self._died_before(run)
                if not least <= len(found) <= most:
                    ids = [each["id"] for each in found]
                    text = f"{shown(run)}: {ids}, {least} to {most} are due; rules: {rules}"
                    yield "an ended run starts the runs after it once", text

    def _died_before(self, run: dict[str, Any]) -> int:
        """Whether a run has died for certain before it was redriven and ended again."""
        redriven = [
            done
            for done in self.done[run["job_id"]]
            if done.run == run["id"] and done.operation.what == "redrive" and done.reply.accepted
        ]
        ended = {done.seen["finished_at"] for done in redriven if done.seen["state"] == "DEAD"} - {None}
        return int(bool(ended) and run["finished_at"] not in ended)

    def _started_after(self, before: dict[str, Any] | None, run: dict[str, Any]) -> Iterator[Finding]:
        """A run that follows another one did not start before the end of that, and shows it."""
        if before is None:
            return
        text = f"{shown(run)} after {shown(before)}"
        rules = self._rules_of(before["job_id"])
        again = self.redrives(before["id"])
        named = [rule for rule in rules or () if rule["job"] == run["job_id"]]
        if rules is not None and not again and not any(_names(rule, before["state"]) for rule in named):
            yield "a run starts others only by its rules", f"{text}; rules: {rules}"
        first = next(iter(self.calls.get(run["id"], [])), None)
        if first is None or again or before["finished_at"] is None:
            return
        ended = max((self._until(call) for call in self.calls.get(before["id"], [])), default=0.0)
        if before["state"] != "CANCELLED" and first.began < ended - SLACK and ended < float("inf"):
            yield "no run starts before the end of the one before it", f"{told(first)}; {text}"
        payload, fields = first.payload, ("state", "result", "code", "error")
        told_of = {name: payload.get(name) for name in fields} if isinstance(payload, dict) else {}
        if told_of != {name: before[name] for name in fields} or payload["run_id"] != before["id"]:
            yield "a run has the end of the one before it as payload", f"{payload}; {text}"
        steady = all(each["overlap"] == "allow" for each in self.definitions(run["job_id"]))
        late = first.began > at(before["finished_at"]) + PROMPT_SECONDS
        if self.calm and steady and late and not self._touched_job(run["job_id"]):
            yield "a run after another one starts at its end", f"{told(first)}; {text}"

    def _touched_job(self, job: str) -> bool:
        return any(done.operation.what not in ("create", "run") for done in self.done[job])

    def _until(self, call: TargetCall) -> float:
        """When the work of an attempt ended: its call, or its execution if that was not stopped."""
        execution = self.world.machines.of(call)
        if execution is None:
            return call.until
        return min(execution.until, execution.stopped or float("inf"), self._deadline(execution))

    def _place(self, run: dict[str, Any]) -> int:
        """How many runs are before a run that started after another one."""
        place, known = 0, {run["id"]}
        while (before := _before(run)) is not None and before in self.result.runs and before not in known:
            place, run = place + 1, self.result.runs[before]
            known.add(before)
        return place

    def _chains(self) -> Iterator[Finding]:
        """At most 16 runs follow one another."""
        for run in self.result.runs.values():
            if (place := self._place(run)) > MOST_IN_A_CHAIN:
                yield "at most 16 runs follow one another", f"{place} before {shown(run)}"

    # Items.

    def _items(self, name: str, step: dict[str, Any]) -> Iterator[Finding]:
        local = name.partition(".")[2]
        of = f"{step['job_id']}.{local}"
        own, calls = self.result.runs.get(of), self._calls_of_items(of)
        puts = [done for done in self.done[name.partition(".")[0]] if done.operation.what == "put"]
        if len(puts) != 1 or own is None:
            if own is None and calls:
                yield "a step with items has a record", f"{of}: {told(calls[0])}"
            return
        body = puts[0].operation.more["body"]
        settings, value = body["jobs"][step["id"]], self._list(body, step["id"])
        count = len(value) if isinstance(value, list) else None
        redriven = self._touched_items(name, of)
        yield from self._called_items(of, value, calls)
        if count is None or count > MOST_ITEMS:
            if calls or own["state"] == "SUCCEEDED":
                yield "no item of a wrong list starts", f"{shown(own)}: {[told(call) for call in calls[:3]]}"
            if own["state"] == "DEAD" and own["code"] != "for_each" and not redriven:
                yield "a step with a wrong list is dead because of it", shown(own)
            return
        yield from self._at_once(of, settings.get("at_once", DEFAULT_AT_ONCE), calls)
        yield from self._outcome_of_items(of, own, settings.get("max_failed", 0), count, redriven)
        yield from self._items_over(of, own, redriven)
        yield from self._manifest(name, of, own, count, body)
        if self.calm and not redriven and self._plain_items(step["job_id"]):
            yield from self._item_turns(own, settings.get("at_once", DEFAULT_AT_ONCE), count, calls)

    def _calls_of_items(self, of: str) -> list[TargetCall]:
        found = [call for name, calls in self.calls.items() if name.startswith(f"{of}.i") for call in calls]
        return sorted(found, key=lambda each: each.began)

    def _list(self, body: dict[str, Any], step: str) -> Any:
        """The list of a step, as its plan has it."""
        if body["jobs"][step]["for_each"].startswith("{{workflow."):
            return body["payload"]["found"]
        return self.plan.targets["list"]["body"]["found"]

    def _touched_items(self, name: str, of: str) -> bool:
        """Whether somebody acted on the workflow's run, on the step's, or on an item's."""
        jobs = {of.partition(".")[0], name.partition(".")[0]}
        whats = {"redrive", "cancel", "redrive-many", "cancel-many", "delete", "pause", "resume"}
        upstream = any(done.operation.what in ("redrive", "cancel") for done in self.done["list"])
        return upstream or any(done.operation.what in whats for job in jobs for done in self.done[job])

    def _plain_items(self, job: str) -> bool:
        given = self.definitions(job)
        return all(each["overlap"] == "allow" and not each.get("completion") for each in given)

    def _called_items(self, of: str, value: Any, calls: list[TargetCall]) -> Iterator[Finding]:
        """Each item's run has the item and the index as payload, of a list that was read once."""
        rounds = set[str]()
        for call in calls:
            index = int(call.run.removeprefix(f"{of}.i"))
            payload = call.payload
            if not isinstance(payload, dict) or payload["index"] != index or not isinstance(value, list):
                yield "an item's run has its item", f"{told(call)}: {payload}"
                continue
            first, _, number = str(payload["item"]).partition(".")
            wanted = str(value[index]).partition(".")[0] if index < len(value) else None
            if first != wanted:
                yield "an item's run has its item", f"{told(call)}: {payload}, not {wanted}"
            rounds.add(number)
        if len(rounds) > 1:
            yield "a run reads its list once", f"{of}: items of the attempts {sorted(rounds)}"

    def _span(self, call: TargetCall) -> float:
        """Until when an attempt certainly lasts."""
        return call.until if call.callback_token is None else self.alive_until(call)

    def _at_once(self, of: str, most: int, calls: list[TargetCall]) -> Iterator[Finding]:
        """At most so many items are active. Redriven ones are counted separately."""
        spans: dict[str, tuple[float, float]] = {}
        for call in calls:
            if not self.redrives(call.run, call.began):
                begin, end = spans.get(call.run, (call.began, 0.0))
                spans[call.run] = begin, max(end, self._span(call))
        for name, (begin, _) in spans.items():
            active = [each for each, (first, last) in spans.items() if first <= begin < last - SLACK]
            if len(active) > most:
                yield "at most at_once items are active", f"{active} at {begin - START:.2f} ({name}), at_once {most}"
                return

    def _ends_of(self, of: str) -> Counter[str]:
        document = self.result.items.get(of)
        return Counter(each["state"] for each in document["jobs"]) if document is not None else Counter()

    def _outcome_of_items(
        self, of: str, own: dict[str, Any], max_failed: int, count: int, redriven: bool
    ) -> Iterator[Finding]:
        """A step succeeds if at most so many items have failed, and is dead otherwise."""
        ends = self._ends_of(of)
        failed = ends["DEAD"] + ends["CANCELLED"] + ends["SKIPPED"]
        text = f"{shown(own)}: {dict(ends)}, max_failed {max_failed}, {count} items"
        if own["state"] == "SUCCEEDED" and not redriven:
            if failed > max_failed:
                yield "a step succeeds if at most max_failed items have failed", text
            if sum(ends.values()) != count or ends["SUCCEEDED"] + failed != count:
                yield "a step succeeds once all of its items have ended", text
        if own["state"] == "DEAD" and not redriven and own["reason"] == "steps_failed" and failed <= max_failed:
            yield "a step is dead because of more than max_failed items", text
        if count == 0 and own["state"] == "DEAD" and not redriven:
            yield "a step with an empty list succeeds", text

    def _items_over(self, of: str, own: dict[str, Any], redriven: bool) -> Iterator[Finding]:
        """No item starts after its step's run has ended."""
        if own["finished_at"] is None or own["state"] not in ("CANCELLED", "DEAD"):
            return
        if own["state"] == "CANCELLED" and self._undisturbed:
            over = at(own["finished_at"])
            for execution in self.world.machines.executions.values():
                mine = execution.call.run.startswith(f"{of}.i") and execution.call.began < over - 1
                if mine and execution.until > over + PROMPT_SECONDS:
                    yield "the cancellation of a step stops its items", f"{_told(execution)}; {shown(own)}"
        asked = (done for each in self.done.values() for done in each)
        if redriven and any(done.operation.what.startswith(("redrive", "console")) for done in asked):
            return
        limit = at(own["finished_at"]) + self.skew + (PROMPT_SECONDS if self.undisturbed else LATE_REQUEST_SECONDS)
        for call in self._calls_of_items(of):
            if call.began > limit:
                yield "no item starts after the end of its step", f"{told(call)}; {shown(own)}"

    def _manifest(self, name: str, of: str, own: dict[str, Any], count: int, body: dict[str, Any]) -> Iterator[Finding]:
        """The result of a step has all of its items, each with its state and its result."""
        local = name.partition(".")[2]
        seen = [call.payload["of"] for call in self.calls.get(f"last.{local}", []) if call.payload]
        if isinstance(own["result"], dict):
            seen.append(own["result"])
        document = self.result.items.get(of)
        for found in seen if own["state"] == "SUCCEEDED" else ():
            text = f"{of}: {str(found)[:700]}"
            if found is None:
                if not self.redrives(of):  # a step that was dead first has no result for those that came after it then
                    yield "the manifest is complete", text
                continue
            each_items = found["items"]
            ids = [(each["index"], each["run_id"]) for each in each_items]
            succeeded = sum(each["state"] == "SUCCEEDED" for each in each_items)
            good = ids == [(number, f"{of}.i{number}") for number in range(count)]
            good = good and (found["count"], found["succeeded"], found["failed"]) == (
                count,
                succeeded,
                count - succeeded,
            )
            if not good:
                yield "the manifest is complete", text
            elif document is not None and not self._redriven_later(of):
                for each in each_items:
                    run = self.result.runs.get(each["run_id"])
                    if run is not None and (run["state"], run["result"]) != (each["state"], each["result"]):
                        if run["state"] == "SKIPPED" and each["state"] in ("DEAD", "CANCELLED"):
                            continue
                        yield "the manifest shows the ends of the items", f"{each}: {shown(run)} {run['result']}"

    def _redriven_later(self, of: str) -> bool:
        return any(self.redrives(each) for each in (of, f"{of}.i0")) or any(
            str(done.run).startswith(f"{of}.i") for each in self.done.values() for done in each
        )

    def _item_turns(self, own: dict[str, Any], most: int, count: int, calls: list[TargetCall]) -> Iterator[Finding]:
        """An item starts once fewer than `at_once` are active."""
        last = {call.run: call for call in calls}
        first = {call.run: call for call in reversed(calls)}
        since = at(own["started_at"]) if own["started_at"] else 0.0
        idle = max([since, *(each.until for each in last.values())])
        if len(first) < count and own["finished_at"] and at(own["finished_at"]) > idle + PROMPT_SECONDS:
            yield "an item starts when it may", f"{len(first)} of {count}, none since {idle - START:.2f}: {shown(own)}"
        for run, call in first.items():
            edges = sorted({since, *(each.until for each in last.values() if since < each.until < call.began)})
            for edge in edges:
                active = sum(first[each].began <= edge < last[each].until for each in first if each != run)
                started = [each for each in first.values() if edge <= each.began <= edge + PROMPT_SECONDS]
                if active < most and call.began > edge + PROMPT_SECONDS and len(started) < most - active:
                    yield "an item starts when it may", f"{told(call)}, it could at {edge - START:.2f}"
                    return

    # Requested and rescheduled runs.

    def _due(self) -> Iterator[Finding]:
        """No run starts before it is due."""
        for name, calls in self.calls.items():
            run = self.result.runs.get(name)
            if run is None or run["workflow"] is not None or self.redrives(name) or calls[0].attempt != 1:
                continue
            if calls[0].began < at(run["due"]) - self.skew - SLACK:
                yield "never early", f"{told(calls[0])}: due {at(run['due']) - START:.1f}: {shown(run)}"

    def _rescheduled(self) -> Iterator[Finding]:
        """A rescheduled run starts at its new time, with its new payload; one that is due soon is not changed."""
        by_run: dict[str, list[Done]] = {}
        for done in (done for each in self.done.values() for done in each):
            if done.operation.what == "reschedule":
                by_run.setdefault(str(done.run), []).append(done)
        for name, changes in by_run.items():
            yield from self._changes(name, changes)
        for done in (done for each in self.done.values() for done in each):
            if done.operation.what == "run" and done.reply.accepted and "ask" in done.operation.more:
                yield from self._started_once(done, by_run.get(done.reply.document["id"], []))

    def _changes(self, name: str, changes: list[Done]) -> Iterator[Finding]:
        first = next(iter(self.calls.get(name, [])), None)
        for done in changes:
            asked = f"{done.operation.more['ask']} asked at {done.reply.asked - START:.2f}"
            if done.reply.accepted and first is not None and first.began < done.reply.asked - SLACK:
                yield "a run that has started is not rescheduled", f"{told(first)}, {asked}"
            alone = all(
                other is done or other.reply.answered < done.reply.asked - 1 or other.reply.asked > done.reply.answered
                for other in changes
            )
            soon = done.seen and at(done.seen["due"]) < done.reply.asked + CHANGEABLE_SECONDS - self.skew - 1
            if done.reply.accepted and soon and alone and self.undisturbed:
                yield "a run that is due soon is not rescheduled", f"{name}, due {done.seen['due']}, {asked}"
            if done.reply.accepted and done.reply.document["id"] != name:
                yield "a rescheduled run keeps its id", f"{name}: {done.reply.document['id']}"
            if done.reply.status == 409 and self.undisturbed and done.seen:
                margin = CHANGEABLE_SECONDS + 2 * self.skew + PROMPT_SECONDS
                later = at(done.seen["due"]) > done.reply.answered + margin
                others = [
                    other for other in changes if other is not done and other.reply.answered > done.reply.asked - 1
                ]
                if later and done.seen["state"] == "QUEUED" and not others and self._only(name, RESCHEDULES):
                    yield "a run that is due later can be rescheduled", f"{name}: {done.reply.document}, {asked}"

    def _only(self, run: str, whats: set[str]) -> bool:
        return {done.operation.what for done in self.done[run.partition(".")[0]]} <= whats

    def _started_once(self, request: Done, changes: list[Done]) -> Iterator[Finding]:
        name = request.reply.document["id"]
        first, run = next(iter(self.calls.get(name, [])), None), self.result.runs.get(name)
        unsure = any(done.reply.status is None or done.reply.status >= 500 for done in changes)
        accepted = [done for done in changes if done.reply.accepted]
        overlapping = any(one.reply.asked < two.reply.answered for one, two in _others(accepted))
        if unsure or overlapping or run is None or self.redrives(name):
            return
        last = max([request, *accepted], key=lambda done: done.reply.asked)
        due = at(last.reply.document["due"])
        text = f"{shown(run)}, due {due - START:.1f} since {last.reply.answered - START:.1f}"
        if at(run["due"]) != due:
            yield "a rescheduled run is due at its new time", f"{text}, not {run['due']}"
        if first is None:
            if self._only(name, RESCHEDULES) and run["state"] != "SKIPPED":
                yield "a rescheduled run starts", text
            return
        if first.began < due - self.skew - SLACK:
            yield "a rescheduled run starts at its new time", f"{told(first)}; {text}"
        alone = all(each["overlap"] == "allow" for each in self.definitions(first.job))
        if self.calm and alone and first.began > max(due, last.reply.answered) + PROMPT_SECONDS:
            yield "a rescheduled run starts at its new time", f"{told(first)}; {text}"
        payloads = [
            done.operation.more["ask"] for done in (request, *accepted) if "payload" in done.operation.more["ask"]
        ]
        wanted = payloads[-1]["payload"] if payloads else None
        if first.payload != wanted and not (wanted is None and first.payload in (None, {})):
            yield "a rescheduled run has its new payload", f"{told(first)}: {first.payload}, not {wanted}; {text}"


def _others(changes: list[Done]) -> Iterator[tuple[Done, Done]]:
    ordered = sorted(changes, key=lambda done: done.reply.asked)
    return ((two, one) for one, two in pairwise(ordered))


def _expected(execution: Execution) -> tuple[str, str | None] | None:
    """The state and the code of a run after the end of its last execution; None if that depends on more."""
    if execution.stopped is not None or execution.ended is None:
        return None
    match execution.outcome:
        case "succeeds":
            return "SUCCEEDED", None
        case "fails":
            return "DEAD", ERROR
        case "expires":
            return "DEAD", None
        case "forgotten":
            return "DEAD", "execution_unknown"
    return None


def _told(execution: Execution) -> str:
    ended = "" if execution.ended is None else f"-{execution.ended - START:.2f}"
    stopped = "" if execution.stopped is None else f", stopped at {execution.stopped - START:.2f}"
    events = [round(each - START, 2) for each in execution.events]
    call = execution.call
    return (
        f"execution of {call.run}/{call.attempt} {call.began - START:.2f}{ended} {execution.status}{stopped} {events}"
    )


def _before(run: dict[str, Any]) -> str | None:
    """The id of the run after which a run has started."""
    words = str(run["requested_by"]).split()
    return words[1] if words[0] == "duecourse:after" else None


def _names(rule: dict[str, str], state: str) -> bool:
    """Whether a rule applies to a run that ended in this state."""
    match rule.get("on", "succeeded"):
        case "succeeded":
            return state == "SUCCEEDED"
        case "dead":
            return state == "DEAD"
        case _:
            return state in ("SUCCEEDED", "DEAD", "CANCELLED")
