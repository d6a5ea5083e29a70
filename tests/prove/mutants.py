# ruff: noqa: E501 - the texts are those of the source
"""`python -m tests.prove.mutants`: faults planted into a copy of the package, and whether histories detect each.

A mutant is a text of the package's source and what replaces it; the text must be there exactly once. After the source
was moved, mutants stay as they are; after it was rewritten, `test_mutants.py` names those to be written anew.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.template import ROOT

PACKAGES = (ROOT / "layers" / "duecourse" / "python", ROOT / "schedules" / "src")

DETECTED = ROOT / "tests" / "prove" / "DETECTED.md"
"""The table that this command writes."""

HEAD = """# Planted faults and the promises that detect them

Written by `make prove-mutants`. Each fault is planted alone into a copy of the package. Histories of one kind are played
from seed 1 until a promise is broken: the last column is their number.

| fault | kind of histories | promise | histories |
|---|---|---|---|"""


@dataclass(frozen=True)
class Mutant:
    """`text` is replaced by `by`, and each first text of `also` by its second one; `profile` is the kind of histories
    that are played."""

    name: str
    text: str
    by: str
    profile: str
    also: tuple[tuple[str, str], ...] = ()


MUTANTS = (
    Mutant("starts early", "early = message.not_before - self.", "early = message.not_before - 30 - self.", "plain"),
    Mutant(
        "at most once is retried",
        "if job.delivery is Delivery.AT_MOST_ONCE:\n        return end(",
        "if False:\n        return end(",
        "retries",
        (
            (
                "return 1 if self.delivery is Delivery.AT_MOST_ONCE else self.retry.max_attempts",
                "return self.retry.max_attempts",
            ),
        ),
    ),
    Mutant(
        "an attempt too many",
        "run.attempt >= run.attempts_allowed:\n        return end",
        "run.attempt > run.attempts_allowed:\n        return end",
        "retries",
    ),
    Mutant(
        "no pause between attempts",
        "not_before = now + job.retry.delay(",
        "not_before = now + 0 * job.retry.delay(",
        "retries",
    ),
    Mutant(
        "refusals are retried",
        "return failed.retryable if self.on is None",
        "return True if self.on is None",
        "retries",
    ),
    Mutant("forbidden retries are made", "if failed.forbidden or any(", "if any(", "retries"),
    Mutant(
        "a pause is ignored",
        'return Drop("the schedule changed before this occurrence was due")',
        "return None",
        "plain",
    ),
    Mutant(
        "an alive holder loses the lock",
        "if isinstance(holder, Final):\n        return StealLock",
        "if True:\n        return StealLock",
        "wait_queue",
    ),
    Mutant("a starting holder loses the lock", "if starting and not begun:", "if False:", "busy"),
    Mutant(
        "callbacks are not awaited",
        "if isinstance(run, Running) and run.deadlines is not None and isinstance(job, Job):",
        "if False:",
        "callbacks",
    ),
    Mutant(
        "a refused deadline message is ignored",
        'return self.requeue.defer(item, decision.previous, now, "the message of its deadline could not be sent")',
        "pass",
        "callbacks",
    ),
    Mutant("deadlines change nothing", "if now < run.deadlines.next:\n", "if True:\n", "callbacks"),
    Mutant(
        "completions of callbacks are dropped",
        "return carried(_during_call(succeed(_named(run, worker), result, now)), request, context)",
        "return Drop('lost')",
        "callbacks",
    ),
    Mutant(
        "cancellations are dropped",
        "case Retrying() | Queued():\n            return carried(cancel(",
        "case Retrying() | Queued():\n            return Drop('lost')\n            return carried(cancel(",
        "cancels",
    ),
    Mutant("deaths are not announced", "if not run.is_step:  # whose", "if False:  # whose", "retries"),
    Mutant(
        "dead letters are deleted",
        "self.forwarder.postpone(item.received.receipt, DEAD_VISIBILITY_SECONDS)\n                return Disposition.RETAIN",
        "return Disposition.ACK",
        "retries",
    ),
    Mutant(
        "the next attempt is not sent",
        "if self.forwarder.send(following, run.not_before):\n            return Disposition.ACK",
        "return Disposition.ACK",
        "retries",
    ),
    Mutant(
        "a refused next attempt is forgotten",
        'item.report.add("send_refused", alarming=True, reason="the next attempt\'s message")\n        return Disposition.RETAIN',
        "return Disposition.ACK",
        "retries",
    ),
    Mutant(
        "the next run in the wait queue is not called",
        "if free := self.overlaps.release(job, run):",
        "if (free := self.overlaps.release(job, run)) and False:",
        "turns",
    ),
    Mutant(
        "the next run of a key is not called",
        "            self.wait_queue.call_next(run.tenant, key_queue(run.key), item.report)",
        "            pass",
        "places",
    ),
    Mutant(
        "a place of a key is taken from an active run",
        "            return _lost(holder, starting, now) is None",
        "            return False",
        "keys",
    ),
    Mutant(
        "a run that waits for its attempt keeps the place of its key",
        "        case Running() | Waiting() | Retrying() if holder.attempt >= attempt:\n            return False",
        "        case Running() | Waiting() if holder.attempt >= attempt:\n            return False",
        "places",
    ),
    Mutant(
        "starts of a rate are not counted",
        "(table.Add(counter, move.step),)",
        "(table.Add(counter, 0),)",
        "rates",
    ),
    Mutant(
        "a changed rate forgets the starts before",
        "paid = at + ceil(owed * step / counted)",
        "paid = at",
        "rates",
    ),
    Mutant(
        "a run that waits for a rate starts without a count",
        "        decision = decide_rate(",
        "        if in_turn:\n            return Pass()\n        decision = decide_rate(",
        "paces",
    ),
    Mutant(
        "runs overtake those that wait for a rate",
        "(in_turn or spent.given + min(step, counted) <= at)",
        "True",
        "paces",
    ),
    Mutant(
        "each instant of a rate is left out",
        "first, last - step, step, free_at if",
        "first, last - step, 3 * step, free_at if",
        "paces",
    ),
    Mutant(
        "Retry-After does not pause a rate",
        "                self.gates.items.pause(job.tenant, pausing.key, pausing.gate, until)",
        "                pass",
        "paces",
    ),
    Mutant(
        "a run that waits for a rate has no message",
        "return self.requeue.defer(replace(item, message=waited), previous, at, what)",
        "return Disposition.ACK",
        "paces",
    ),
    Mutant(
        "an open circuit breaker lets attempts start",
        "    if now < state.open_until:\n        # An operator",
        "    if False:\n        # An operator",
        "probes",
    ),
    Mutant(
        "failures are not counted for a circuit breaker",
        "and not end.again and state.probe != token:",
        "and False:",
        "probes",
    ),
    Mutant(
        "429 does not count as a failure of a target",
        r'"http\.(429|5\d\d)',
        r'"http\.(5\d\d)',
        "probes",
    ),
    Mutant(
        "a failed probe does not open its circuit breaker again",
        "        case Verdict.FAILS:\n            longer = ",
        "        case Verdict.FAILS if state.open_until:\n            return replace(state, probe='', probe_until=0)\n"
        "        case Verdict.FAILS:\n            longer = ",
        "probes",
    ),
    Mutant(
        "a circuit breaker opens for the same time again",
        "longer = min(2 * state.open_seconds, MAX_OPEN_SECONDS)",
        "longer = min(state.open_seconds, MAX_OPEN_SECONDS)",
        "probes",
    ),
    Mutant(
        "two runs become probes at once",
        "return Write(changes, condition, to=after, note=note)",
        "return Write(changes, None, to=after, note=note)",
        "probes",
    ),
    Mutant(
        "a success does not clear the failures of a circuit breaker",
        "        case Verdict.WORKS:\n            return BreakerState()",
        "        case Verdict.WORKS:\n            return BreakerState() if state.open_until else state",
        "probes",
    ),
    Mutant(
        "a successful probe does not close its circuit breaker",
        "        case Verdict.WORKS:\n            return BreakerState()",
        "        case Verdict.WORKS if state.open_until:\n            return replace(state, probe='', probe_until=0)\n"
        "        case Verdict.WORKS:\n            return BreakerState()",
        "probes",
    ),
    Mutant(
        "attempts from before its opening close a circuit breaker",
        "    if state.open_until and state.probe != token:\n        return state",
        "    if state.open_until and state.probe != token and verdict is not Verdict.WORKS:\n        return state",
        "probes",
    ),
    Mutant(
        "a refused probe keeps its circuit breaker half open",
        "            return BreakerState() if state.open_until else state\n",
        "            return without_probe(state)\n",
        "probes",
    ),
    Mutant(
        "a dead probe keeps its circuit breaker half open",
        "    if now < state.probe_until:",
        "    if state.probe:",
        "breakers",
    ),
    Mutant(
        "a run that waits for a circuit breaker uses an attempt",
        "waits: Queued | Retrying = becomes(run, Queued)()",
        "waits: Queued | Retrying = becomes(run, Queued)()\n"
        "            if wait.gate == 'breaker':\n"
        "                waits = becomes(run, Retrying)(attempts=run.attempts, finished_at=now, not_before=not_before)",
        "probes",
    ),
    Mutant(
        "a run that waits for a circuit breaker has no message",
        "        waited = replace(message, waited=True, call=None)\n        return self.requeue.defer(",
        "        waited = replace(message, waited=True, call=None)\n        if gate == 'breaker':\n            return Disposition.ACK\n"
        "        return self.requeue.defer(",
        "probes",
    ),
    Mutant(
        "a run that waits for a circuit breaker shows a rate",
        "GateWait(gate, delayed.key",
        'GateWait("rate", delayed.key',
        "probes",
    ),
    Mutant(
        "a hold does not open the circuit breaker of its key",
        "return None if after == state else replaced(state, after)\n\n    def opened",
        "return None\n\n    def opened",
        "probes",
    ),
    Mutant(
        "close leaves a circuit breaker open",
        "return None if state == BreakerState() else replaced(state, BreakerState())",
        "return None",
        "probes",
    ),
    Mutant(
        "runs of a held key wait for the end of its hold",
        "at = min(state.open_until, now + MAX_DELAY_SECONDS - SPREAD_SECONDS)",
        "at = state.open_until",
        "probes",
    ),
    Mutant(
        "jobs are not completed",
        "if job.ends_by(soon) and complete_if_ended(",
        "if False and complete_if_ended(",
        "plain",
    ),
    Mutant(
        "claimed though not all was sent",
        "            if all(fine):\n                sent.append(planned)",
        "            if True:\n                sent.append(planned)",
        "sends",
    ),
    Mutant("records are written over", "all_of(_unchanged(previous), holds(beat))", "None", "retries"),
    Mutant(
        "cut jobs count as skipped (A.2)", "upstream & (ends.failed | ends.aborted)", "upstream & ends.failed", "rules"
    ),
    Mutant(
        "all_done does not wait",
        "case Rule.ALL_DONE:\n                return _once(ended, ",
        "case Rule.ALL_DONE:\n                return _once(True, ",
        "rules",
    ),
    Mutant(
        "all_success needs one success",
        "Readiness.READY if ok == upstream else",
        "Readiness.READY if ok else",
        "rules",
    ),
    Mutant(
        "none_failed starts after skips",
        "Readiness.READY if ok or not upstream else",
        "Readiness.READY if True else",
        "rules",
    ),
    Mutant(
        "any_success counts failures",
        "case Rule.ANY_SUCCESS:\n                if ok:",
        "case Rule.ANY_SUCCESS:\n                if ok or failed:",
        "rules",
    ),
    Mutant(
        "any_failure is never needed",
        "return Readiness.READY if failed else _once(ended, Readiness.NOT_NEEDED)",
        "return _once(ended, Readiness.NOT_NEEDED)",
        "rules",
    ),
    Mutant(
        "a workflow succeeds in spite of failures (A.2)",
        "WorkflowOutcome.FAILED if len(self.failed) > most else",
        "WorkflowOutcome.FAILED if False else",
        "rules",
    ),
    Mutant(
        "a redriven workflow leaves its jobs dead (A.3)",
        "if isinstance(each, Dead) and each.workflow_redriven_at != run.redriven_at\n",
        "if False\n",
        "repair",
    ),
    Mutant(
        "a rerun counts failures of the first run as skips (A.2)",
        "carried_over=CarriedOver(known.of(number) or StepOutcome.ABORTED, run.name.local)",
        "carried_over=CarriedOver(StepOutcome.SUCCEEDED if known.of(number) is StepOutcome.SUCCEEDED else StepOutcome.SKIPPED, run.name.local)",
        "rules",
    ),
    Mutant("ends have no rounds (A.3)", "return ROUND * in_round + (", "return 0 * in_round + (", "repair"),
    Mutant(
        "not_before delays skips (A.4)",
        "if turn.readiness.skips:\n        return _skipped(",
        "if turn.readiness.skips and now >= turn.not_before:\n        return _skipped(",
        "timed",
    ),
    Mutant(
        "a paused job of a workflow starts from its wait queue (A.5)",
        'return never("start_deadline")\n    if held := held_by_pause(request, job, now):\n        return held\n',
        'return never("start_deadline")\n',
        "held",
    ),
    Mutant(
        "a resumption starts nothing (A.5)",
        "held = self.parts.wait_queues.held(job.tenant, job.id)",
        "held = []",
        "paused",
    ),
    Mutant(
        "a worker skips for good what waited when a pause began",
        "return _before_pause(request, job, not_run(request, job, context, PAUSED), now) if job.is_paused(now)",
        "return not_run(request, job, context, PAUSED) if job.is_paused(now)",
        "pauses",
    ),
    Mutant(
        "occurrences of a pause use up max_runs", "    row.remaining = None\n    ranges =", "    ranges =", "pauses"
    ),
    Mutant(
        "runs after a short pause wait for the next round",
        "            self.jobs.send_ahead(made)\n",
        "            pass\n",
        "pauses",
    ),
    Mutant(
        "a second pause catches up what the first one skipped",
        "if cursor is not None and settled(self.parts.jobs, self.skipping, job, cursor, self.parts.clock.now()):",
        "if False:",
        "pauses",
    ),
    Mutant(
        "two workflows claim one job (A.6)",
        "            faults += claimed_by_others(self.editing.jobs.membership, self.workflow, steps, strangers, now)\n",
        "",
        "rivals",
    ),
    Mutant(
        "a refused PUT has written the workflow (A.6)",
        "        found = self._checked(tenant, workflow_id, draft, before)\n        if expected == ANYTHING",
        "        early = draft.definition(self.workflows.put_graph(tenant, workflow_id, Graph(draft.steps)).graph)\n"
        "        self.editing.put(tenant, workflow_id, lambda _: early, expected, correlation_id, by=by)\n"
        "        found = self._checked(tenant, workflow_id, draft, before)\n        if expected == ANYTHING",
        "rivals",
    ),
    Mutant(
        "a workflow that was deleted before its run's first write goes on (A.7)",
        "if run.is_workflow and own_job(self.parts.jobs.get(run.tenant, run.job_id), run) is None:",
        "if False:",
        "deleted",
    ),
    Mutant(
        "who takes a workflow's run over sets its deadline anew (A.7)",
        "deadlines=run.deadlines)) if run.is_workflow else start",
        "deadlines=run.deadlines)) if False else start",
        "over",
    ),
    Mutant(
        "a further delivery of an evaluation deletes the dead letter (A.7)",
        "if isinstance(item.message.command, Evaluate) and self._carried_by_another(item, run):",
        "if False:",
        "again",
    ),
    Mutant(
        "each late message of a wait queue starts its next run (part 0)",
        "if left or (others == 0 and queue == message.wait_queue):",
        "if message.waited:",
        "crowd",
        (
            (
                "if not first or (watch := self._watched(first[0])).calls:",
                "if not first or not (watch := self._watched(first[0])):",
            ),
            (
                "if not self._record(first[0], replace(watch, calls=frozenset(calls)), watch):",
                "if not self._record(first[0], replace(watch, calls=frozenset(calls)), watch) and False:",
            ),
        ),
    ),
    Mutant(
        "a redriven run that waits leaves its wait queue (part 0)",
        "isinstance(run, Succeeded | Cancelled | Skipped | None)",
        "run is None or run.state.final",
        "wait_queue",
    ),
    Mutant(
        "a redriven run of a deleted job stays in its wait queue",
        "self._leave_wait_queue(item, run if run is not None and isinstance(own_job(job, run), Job) else None)",
        "self._leave_wait_queue(item, run)",
        "wait_queue",
    ),
    Mutant(
        "a read that is refused quarantines a cursor (part 0)",
        "                anew = self._made(cursor, now, rejected, on_time) if on_time else made\n",
        "                anew = self._made(cursor, now, rejected, on_time) if on_time else made\n"
        "                if on_time is None:\n                    rejected.append(Rejected(cursor, 'throttled'))\n",
        "missed",
    ),
    Mutant(
        "the former place of a redriven run counts",
        "active[lock.holder] = place",
        "active[f'{lock.holder} {place}'] = place",
        "allowed",
    ),
    Mutant(
        "an event about the end of an execution is ignored",
        "        return self.has_ended(run, report)\n\n    def has_ended",
        "        return True\n\n    def has_ended",
        "executions",
    ),
    Mutant(
        "an execution whose event was lost is not read",
        "if isinstance(message.command, CheckDeadline) and self._execution_ended(run, item.report):",
        "if False:",
        "executions",
    ),
    Mutant(
        "an event before its execution is recorded is forgotten",
        "        if owner is None:\n            return False\n        tenant, name = owner",
        "        if owner is None:\n            return True\n        tenant, name = owner",
        "executions",
        (
            (
                "            return False  # the record of the end of its call is not written yet",
                "            return True",
            ),
        ),
    ),
    Mutant(
        "a cancellation leaves the execution running",
        "                if isinstance(run, Cancelled):\n                    self._stop_execution(run, item.report)\n",
        "",
        "executions",
    ),
    Mutant(
        "the next attempt starts beside the execution of the one before",
        "            case Retrying():\n                self._stop_execution(run, item.report)\n",
        "            case Retrying():\n",
        "executions",
    ),
    Mutant(
        "an execution that is not known any more is started again",
        'return Failed(text, retryable=False, code="execution_unknown")',
        'return Failed(text, code="execution_unknown")',
        "executions",
    ),
    Mutant(
        "a run succeeds when its execution starts",
        "if isinstance(run, Running) and run.deadlines is not None and isinstance(job, Job):",
        'if isinstance(run, Running) and run.deadlines is not None and isinstance(job, Job) and job.completion != "end":',
        "executions",
    ),
    Mutant(
        "an execution that failed counts as a success",
        '        case status:\n            return _failed(ExecutionService.STATES, status, found.get("error"), found.get("cause"))',
        "        case status:\n            return Returned({'status': status})",
        "executed",
    ),
    Mutant(
        "what follows a success follows a death, too",
        "        case Dead():\n            ends = {ThenOn.DEAD, ThenOn.ANY}",
        "        case Dead():\n            ends = set(ThenOn)",
        "successors",
    ),
    Mutant(
        "nothing follows a cancelled run",
        "        case Cancelled():\n            ends = {ThenOn.ANY}",
        "        case Cancelled():\n            return []",
        "successors",
    ),
    Mutant(
        "a repeated end starts the runs after it again",
        'f"after {run.run_id} {run.attempt}", run.correlation_id',
        'f"after {run.run_id} {self.parts.randomness.nonce()}", run.correlation_id',
        "successors",
    ),
    Mutant(
        "nothing follows a redriven run",
        'f"after {run.run_id} {run.attempt}", run.correlation_id',
        'f"after {run.run_id}", run.correlation_id',
        "successors",
    ),
    Mutant(
        "17 runs follow one another",
        "chain.place >= MAX_CHAIN else",
        "chain.place > MAX_CHAIN else",
        "successors",
    ),
    Mutant(
        "a run after another one does not know its result",
        "payload = payload_after(run, self._result(run, MAX_RESULT_BYTES // len(names)))",
        "payload = payload_after(run, None)",
        "successors",
    ),
    Mutant(
        "one run follows although several should",
        "    return list(dict.fromkeys(rule.job for rule in job.then if rule.on in ends))",
        "    return list(dict.fromkeys(rule.job for rule in job.then if rule.on in ends))[:1]",
        "successors",
    ),
    Mutant(
        "the first item too many is active",
        "        return len(self.steps) if self.items is None else self.items.at_once",
        "        return len(self.steps) if self.items is None else self.items.at_once + 1",
        "items",
    ),
    Mutant(
        "the end of an item opens no other one",
        "following = graph.opened(number, known, last=recorded.first and not run.round)",
        "following = []",
        "items",
    ),
    Mutant(
        "a step succeeds with one failure too many",
        "return WorkflowOutcome.FAILED if len(self.failed) > most else",
        "return WorkflowOutcome.FAILED if len(self.failed) > most + (self.graph.items is not None) else",
        "items",
    ),
    Mutant(
        "failed items always fail their step",
        "most = 0 if self.graph.items is None else self.graph.items.max_failed",
        "most = 0",
        "items",
    ),
    Mutant(
        "items of a list above the limit start",
        "    if len(found) > MAX_ITEMS:",
        "    if False:",
        "items",
    ),
    Mutant(
        "a manifest lacks its last item",
        "for index, each in enumerate(entries)]",
        "for index, each in enumerate(entries[:-1])]",
        "items",
    ),
    Mutant(
        "items go on after the cancellation of their step",
        "        return messages.cancellations(state.to_cancel())",
        "        return [] if inside.graph.items is not None else messages.cancellations(state.to_cancel())",
        "stops",
    ),
    Mutant(
        "the end of a nested workflow is not recorded in the outer one",
        "        if run.is_step:\n            following +=",
        "        if run.is_step and (run.has_items or not run.is_workflow):\n            following +=",
        "nested",
    ),
    Mutant(
        "a nested workflow goes on after the cancellation of the outer one",
        "        return messages.cancellations(state.to_cancel())",
        "        return messages.cancellations(() if run.is_step and run.items is None else state.to_cancel())",
        "nested",
    ),
    Mutant(
        "an old message starts a rescheduled run",
        '    if now < run.due:\n        return Drop("the run was rescheduled")\n',
        "",
        "snoozes",
    ),
    Mutant(
        "a rescheduled run keeps its payload",
        '    if payload is not None:\n        changes.append(Set("payload", values.document(payload[0])))',
        "",
        "snoozes",
    ),
    Mutant(
        "a run that comes due is rescheduled",
        "unstarted = can_change(run, self.parts.clock.now())",
        "unstarted = True",
        "snoozes",
    ),
)


def changed(mutant: Mutant, sources: dict[Path, str]) -> dict[Path, str]:
    """The files of the package that the fault changes. Raises ValueError if a text is not there once."""
    made: dict[Path, str] = {}
    for text, by in ((mutant.text, mutant.by), *mutant.also):
        found = [path for path, source in sources.items() if text in source]
        if len(found) != 1 or sources[found[0]].count(text) != 1:
            raise ValueError(f"{mutant.name}: {text!r} is in {[path.name for path in found]}")
        made[found[0]] = made.get(found[0], sources[found[0]]).replace(text, by)
    return made


def package() -> dict[Path, str]:
    """The source of the packages by file, relative to their folders."""
    return {path.relative_to(folder): path.read_text() for folder in PACKAGES for path in folder.rglob("*.py")}


def planted(mutant: Mutant, folder: Path) -> Path:
    """A copy of the package in that folder, with the fault."""
    copy = folder / "python"
    for each in PACKAGES:
        shutil.copytree(each, copy, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    for path, source in changed(mutant, package()).items():
        (copy / path).write_text(source)
    return copy


def histories(mutant: Mutant, seed: int, most: int) -> subprocess.CompletedProcess[str]:
    """Play histories against the mutant."""
    with tempfile.TemporaryDirectory() as folder:
        copy = planted(mutant, Path(folder))
        command = [sys.executable, "-m", "tests.prove", "--seed", str(seed), "--histories", str(most)]
        command += ["--profile", mutant.profile, "--minimize", "0"]
        environ = {**os.environ, "PYTHONPATH": str(copy)}
        return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)


def rows() -> dict[str, str]:
    """The rows of the table by the names of their mutants, those of mutants that are there."""
    names = {mutant.name for mutant in MUTANTS}
    lines = DETECTED.read_text().splitlines() if DETECTED.exists() else []
    found = {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.startswith("| ")}
    return {name: line for name, line in found.items() if name in names}


def written(found: dict[str, str]) -> None:
    """Write the table, in the order of the mutants."""
    lines = [found[mutant.name] for mutant in MUTANTS if mutant.name in found]
    DETECTED.write_text("\n".join([HEAD, *lines, ""]))


def main() -> int:
    """A table: by mutant the promise that was broken, and after how many histories."""
    parser = argparse.ArgumentParser(prog="make prove-mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--histories", type=int, default=150, help="how many to play for each at most")
    parser.add_argument("--only", nargs="*", help="mutants whose names contain one of these texts")
    parser.add_argument("--missing", action="store_true", help="mutants that the table does not show as detected")
    given = parser.parse_args()
    missed = 0
    for mutant in MUTANTS:
        if given.only and not any(text in mutant.name for text in given.only):
            continue
        if given.missing and "**" not in rows().get(mutant.name, "**"):
            continue
        played = histories(mutant, given.seed, given.histories)
        lines = played.stdout.splitlines()
        promise = next((line.strip().partition(":")[0] for line in lines if line.startswith("  ")), "**not detected**")
        count = lines[-1].partition(" ")[0] if lines else "?"
        missed += promise.startswith("**")
        row = f"| {mutant.name} | {mutant.profile} | {promise} | {count} |"
        print(row, played.stderr[-300:] if not lines else "", flush=True)
        written(rows() | {mutant.name: row})
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
