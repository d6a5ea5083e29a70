"""One run in a world of workers that crash, letters that come twice and late, and clocks that differ.

A model of what surrounds `domain.runs.transitions.decide`: a record with conditional writes, letters in a lane and
among the dead, calls on their way. It keeps to the order of the real use cases (record, then send, then delete) and can
be cut short between any two of them. Every write is looked at by `promises`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count

from duecourse.domain.jobs.job import Job, JobSnapshot, Tombstone
from duecourse.domain.runs.decision import (
    AttemptContext,
    DeadLettered,
    Decision,
    Drop,
    Ended,
    Event,
    FollowUp,
    RemainingCatchUp,
    Reschedule,
    RetryLater,
    Start,
    Transition,
)
from duecourse.domain.runs.states import Dead, Retrying, Run, Running, RunState, Waiting, is_written_as
from duecourse.domain.runs.transitions import decide
from duecourse.domain.targets.targets import Outcome
from duecourse.messages import MessageKind
from tests.support.run_parts import LEASE_SECONDS, VISIBLE_AFTER_SECONDS, Calling, Letter, Thought, Worker, Write
from tests.support.start_requests import DUE, EXPIRES, start_request

STARTS = (MessageKind.START, MessageKind.REDRIVE)


@dataclass(slots=True)
class World:
    """What there is of one run. `seen` is asked about every decision, `wrote` about every write."""

    job: JobSnapshot
    seen: Callable[[Decision], None]
    wrote: Callable[[Write], None]
    time: float = float(DUE)
    record: Run | None = None
    letters: list[Letter] = field(default_factory=list)
    calls: list[Calling] = field(default_factory=list)
    thinking: list[Thought] = field(default_factory=list)
    numbers: count[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.post(MessageKind.START, 1)

    # Letters.

    def post(self, kind: MessageKind, attempt: int, not_before: float = 0.0, nonce: str | None = None) -> Letter:
        """A fresh message in the lane."""
        number = next(self.numbers)
        offered = start_request(attempt=attempt, nonce=nonce or f"nonce-{number}", redrive=kind is MessageKind.REDRIVE)
        letter = Letter(kind, offered, f"message-{number}", not_before)
        self.letters.append(letter)
        return letter

    def strand(self, letter: Letter) -> None:
        """SQS has moved it to the dead letters: not before whoever had it last has given it back, or is long dead."""
        self.time = max(self.time, letter.hidden_until)
        if letter.home == "lane":
            letter.home = "dead"

    def bring_back(self, letter: Letter) -> None:
        """The console's redrive: the same body under another id."""
        if letter.home == "dead":
            letter.home = "gone"
            number = next(self.numbers)
            self.letters.append(Letter(letter.kind, letter.request, f"message-{number}", 0.0))

    def send_afresh(self, letter: Letter) -> None:
        """A worker near the receive limit, who cannot read the record, sends a copy and deletes the letter."""
        if letter.home == "lane":
            letter.home = "gone"
            number = next(self.numbers)
            replaced = (*letter.request.replaces, (letter.message_id, letter.request.nonce))
            offered = replace(letter.request, nonce=f"nonce-{number}", replaces=replaced)
            self.letters.append(Letter(letter.kind, offered, f"message-{number}", letter.not_before))

    # Workers.

    def deliver(self, letter: Letter, *, skew: float, hold: bool, crash: bool) -> None:
        """A worker receives it and decides; `hold`: it takes its time over the write."""
        if letter.home == "dead":
            return
        letter.home = "lane"  # what was deleted may be delivered once more
        self.time = max(self.time, letter.not_before - skew)
        worker = self._worker(letter, skew)
        thought = self._think(worker, letter.event())
        if hold:
            self.thinking.append(thought)
        else:
            self._act(thought, crash=crash)

    def go_on(self, pick: int, *, crash: bool) -> None:
        """A worker that took its time does what it had decided, if it still lives."""
        if self.thinking:
            thought = self.thinking.pop(pick % len(self.thinking))
            if self.time < thought.worker.killed_at:
                self._act(thought, crash=crash)

    def end_call(self, pick: int, outcome: Outcome, *, draw: float, crash: bool) -> None:
        """A call ends, and its worker records that if it still lives."""
        if not self.calls:
            return
        call = self.calls.pop(pick % len(self.calls))
        if self.time >= call.worker.killed_at:
            return
        run = call.run
        for _ in range(6):
            event = Ended(outcome, draw)
            decision = decide(event, call.job, run, call.worker.context, now=self.time + call.worker.skew)
            self.seen(decision)
            assert isinstance(decision, Transition)
            if self._write(Thought(call.worker, event, decision, call.job), run):
                if not crash:
                    self._follow(decision.run, call.worker.letter)
                return
            found = self.record
            if found is None or found.attempt != run.attempt or found.state is not RunState.RUNNING:
                call.worker.letter.home = "gone"
                return
            run = found
        raise AssertionError("the end of a call was never recorded")

    def crash_call(self, pick: int) -> None:
        """A worker dies with its call on its way."""
        if self.calls:
            self.calls.pop(pick % len(self.calls))

    def reconcile(self, letter: Letter, *, skew: float) -> None:
        """The dead-letter reconciler looks at a letter."""
        if letter.home != "dead":
            return
        thought = self._think(self._worker(letter, skew), DeadLettered(letter.request, letter.kind in STARTS))
        match thought.decision:
            case RetryLater():
                pass
            case Drop():
                letter.home = "gone"
            case Reschedule():
                letter.home = "gone"
                self.post(letter.kind, letter.names)
            case FollowUp(run):
                self._follow(run, letter)
            case Transition(run):
                if self._write(thought, self.record):
                    self._follow(run, letter)
            case Start() | RemainingCatchUp():
                raise AssertionError("nothing starts from the dead letters")

    # What people do.

    def beat(self) -> None:
        """A heartbeat: the deadline moves, nothing else."""
        run = self.record
        if not isinstance(run, Running | Waiting) or run.deadlines is None:
            return
        if (until := run.deadlines.heartbeat_until) is not None:
            deadlines = replace(run.deadlines, heartbeat_until=max(until, self.time + 60))
            self.record = replace(run, deadlines=deadlines)

    def delete_job(self) -> None:
        """The job is deleted."""
        self.job = Tombstone(self.time)

    def change_job(self) -> None:
        """The job's schedule is edited: nothing to a run that has begun."""
        if isinstance(self.job, Job):
            self.job = replace(
                self.job, generation=max(int(self.time * 1000), self.job.generation + 1), changed_at=self.time
            )

    def recreate_job(self, job: Job) -> None:
        """Another job takes the id of the deleted one."""
        if isinstance(self.job, Tombstone):
            born = int(self.time * 1000) + 1
            self.job = replace(
                job, generation=born, created_generation=born, created_at=self.time, changed_at=self.time
            )

    # Inside.

    def _worker(self, letter: Letter, skew: float) -> Worker:
        number = next(self.numbers)
        killed_at = self.time + LEASE_SECONDS
        letter.hidden_until = killed_at + VISIBLE_AFTER_SECONDS
        token = f"request-{number}/{letter.message_id}"
        context = AttemptContext(letter.message_id, token, killed_at + skew, EXPIRES, f"secret-number-{number:06}")
        return Worker(letter, context, skew, killed_at)

    def _think(self, worker: Worker, event: Event) -> Thought:
        decision = decide(event, self.job, self.record, worker.context, now=self.time + worker.skew)
        self.seen(decision)
        return Thought(worker, event, decision, self.job)

    def _act(self, thought: Thought, *, crash: bool) -> None:
        for _ in range(6):
            if self._acted(thought, crash=crash):
                return
            thought = self._think(thought.worker, thought.event)
        raise AssertionError("a message was never decided")

    def _acted(self, thought: Thought, *, crash: bool) -> bool:
        """False when another writer was there first."""
        letter = thought.worker.letter
        match thought.decision:
            case Start(run, previous):
                if run.deadlines is not None:
                    self.post(MessageKind.DEADLINE, run.attempt, run.deadlines.next)
                if not self._write(thought, previous):
                    return False
                if not crash:
                    self.calls.append(Calling(thought.worker, run, thought.job))
            case Transition(run, previous):
                if not self._write(thought, previous):
                    return False
                if not crash:
                    self._follow(run, letter)
            case Drop():
                letter.home = "gone"
            case FollowUp(run):
                if not crash:
                    self._follow(run, letter)
            case RetryLater(until):
                letter.not_before = until
                letter.hidden_until = until - thought.worker.skew
            case Reschedule(until):
                letter.home = "gone"
                self.post(letter.kind, letter.names, until)
            case RemainingCatchUp():
                raise AssertionError("a message that stands for itself leaves no remainder")
        return True

    def _write(self, thought: Thought, previous: Run | None) -> bool:
        """The table's condition: nothing is there, or the same state, attempt and token."""
        before = self.record
        if (before is None) != (previous is None):
            return False
        if before is not None and previous is not None and not is_written_as(before, previous):
            return False
        assert isinstance(thought.decision, Start | Transition)
        self.record = thought.decision.run
        self.wrote(Write(thought, before, self.time))
        return True

    def _follow(self, run: Run, letter: Letter) -> None:
        match run:
            case Retrying():
                self.post(MessageKind.START, run.attempt + 1, run.not_before)
                letter.home = "gone"
            case Dead():
                letter.hidden_until = 0.0  # it is failed until SQS itself moves it, or lies there already
            case _:
                letter.home = "gone"
