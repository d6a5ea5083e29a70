"""When a circuit breaker is open: a model that follows the calls of a key and what operators did.

It is written from docs/runs.md, not from the code. Where two events were so close that workers may have recorded either
one first, and it matters which, the state is unknown until an event after which it is known again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil

from tests.prove.operations import Done
from tests.prove.targets import TargetCall

NEAR_SECONDS = 0.5
"""Events that are closer to each other may be recorded in any order, where no request is slow."""

SPREAD_SECONDS = 30
"""Within which waiting runs start after the end of an open breaker, at most as long as it was open."""

PROBING_SECONDS = 30
"""Within which runs try again that came while a probe was in progress."""

MOST_SECONDS = 900
"""The longest time for which a breaker opens."""

HELD_SECONDS = 60
"""If the first probe after a hold fails, the breaker opens for twice this time."""

FAILING = frozenset({"fails", "throttles", "breaks", "timeout", "forbids"})
"""Outcomes of calls that count as failures of the target."""

ANSWERING = frozenset({"succeeds", "refuses"})
"""Outcomes of a probe after which its breaker is closed: the target works, whatever it says of this request."""

FOREVER = float("inf")


@dataclass(frozen=True)
class Phase:
    """A breaker from `begin` on (UTC seconds). `known`: False if its state is not certain. No call begins before
    `until`; 0: the breaker is closed. It was opened for `seconds`. `failures` since the last success. `testing`: a
    probe is in progress. `tried`: until when each run that waits has tried again."""

    begin: float
    known: bool = True
    failures: int = 0
    until: float = 0.0
    seconds: float = 0.0
    testing: bool = False
    tried: float = 0.0

    @property
    def closed(self) -> bool:
        """Whether it is closed for certain."""
        return self.known and not self.until


@dataclass
class BreakerModel:
    """`failures` open the breaker for `open_seconds`. `skew`: how much clocks differ. `lag`: the time (seconds) from
    the read of a breaker to the call. `wrong`: calls that began although the breaker was open, with its phase.
    """

    failures: int
    open_seconds: int
    skew: float = 0.0
    lag: float = NEAR_SECONDS
    phases: list[Phase] = field(default_factory=lambda: [Phase(0.0)])
    wrong: list[tuple[TargetCall, Phase]] = field(default_factory=list)
    _probe: TargetCall | None = None
    _saw_failures: dict[int, bool] = field(default_factory=dict)
    """By the id of a call that began while the state was known for certain."""
    _unsure: set[int] = field(default_factory=set)
    """Ids of calls that are, or may be, probes of an opening that is over."""
    _events: list[tuple[float, int, TargetCall | Done]] = field(default_factory=list)

    @property
    def _phase(self) -> Phase:
        return self.phases[-1]

    def at(self, instant: float) -> Phase:
        """The phase at an instant."""
        return next(phase for phase in reversed(self.phases) if phase.begin <= instant)

    def between(self, begin: float, end: float) -> list[Phase]:
        """The phases that begin after `begin`, up to `end`."""
        return [phase for phase in self.phases if begin < phase.begin <= end]

    def play(self, calls: Sequence[TargetCall], operations: Sequence[Done]) -> None:
        """Follow all calls of the key, and the holds and closes of it."""
        self._events = [(call.began, 2, call) for call in calls]
        self._events += [(call.ended, 1, call) for call in calls if call.ended is not None]
        self._events += [(done.reply.asked, 0, done) for done in operations]
        self._events.sort(key=lambda each: each[:2])
        for now, kind, event in self._events:
            if isinstance(event, Done):
                self._operated(event)
            elif kind == 1:
                self._ended(event, now)
            else:
                self._began(event, now)

    def _near(self, now: float, mine: TargetCall | Done) -> list[TargetCall | Done]:
        """The operations and the calls whose begin or end is close to this event."""
        return [
            event
            for at, kind, event in self._events
            if kind != 2 and abs(at - now) < NEAR_SECONDS and event is not mine
        ]

    def _fails_near(self, now: float, mine: TargetCall) -> bool:
        return any(isinstance(each, TargetCall) and each.outcome in FAILING for each in self._near(now, mine))

    def _enter(self, phase: Phase) -> None:
        if self._probe is not None and not phase.testing:
            self._unsure.add(id(self._probe))
            self._probe = None
        self.phases.append(phase)

    def _lose(self, now: float) -> None:
        self._enter(Phase(now, known=False, tried=FOREVER))

    def _open(self, now: float, failures: int, until: float, seconds: float) -> None:
        tried = max(self._phase.tried, until + min(SPREAD_SECONDS, seconds) + 1)
        self._enter(Phase(now, True, failures, until, seconds, tried=tried))

    def _operated(self, done: Done) -> None:
        now, phase = done.reply.asked, self._phase
        if not done.reply.accepted or self._near(now, done):
            self._lose(now)
        elif done.operation.what == "close":
            again = now + MOST_SECONDS + SPREAD_SECONDS  # a run waits no longer before it tries again
            self._enter(Phase(now, tried=min(phase.tried, again)))
        elif phase.known:
            until = max(phase.until, now + done.operation.more["seconds"])
            self._open(now, phase.failures, until, phase.seconds or HELD_SECONDS)

    def _began(self, call: TargetCall, now: float) -> None:
        phase = self._phase
        read = [self.at(now - self.lag), *(each for each in self.phases if each.begin > now - self.lag)]
        if not all(each.known for each in read):
            self._unsure.add(id(call))
        elif not phase.until:
            if len({(each.closed, each.failures > 0) for each in read}) == 1:
                self._saw_failures[id(call)] = phase.failures > 0
        elif any(each.closed for each in read):
            pass  # its worker may have read the breaker before it opened
        elif phase.testing or now < phase.until - 2 * self.skew - 0.01:
            self.wrong.append((call, phase))
        else:
            self._enter(replace(phase, begin=now, testing=True))
            self._probe = call

    def _ended(self, call: TargetCall, now: float) -> None:
        phase, fails, works = self._phase, call.outcome in FAILING, call.outcome == "succeeds"
        if call is self._probe:
            self._probe = None
            self._probed(now, call.outcome, self._near(now, call), self._fails_near(now, call))
        elif not phase.known:
            if works and self._alone(call, now) and call.began > phase.begin + self.lag:
                self._enter(Phase(now, tried=FOREVER))
        elif phase.until or not (fails or works):
            pass
        elif id(call) in self._unsure:
            if fails or phase.failures:
                self._lose(now)
        elif fails:
            self._failed(call, now, phase)
        elif (saw := self._saw_failures.get(id(call))) is not False and (phase.failures or self._fails_near(now, call)):
            if saw is None or self._fails_near(now, call):
                self._lose(now)
            else:
                self._enter(replace(phase, begin=now, failures=0))

    def _probed(self, now: float, outcome: str, near: list[TargetCall | Done], fails_near: bool) -> None:
        phase = self._phase
        again = max(phase.tried, now + PROBING_SECONDS)
        if any(isinstance(each, Done) for each in near) or (outcome in ANSWERING and fails_near):
            self._lose(now)
        elif outcome in ANSWERING:
            self._enter(Phase(now, tried=again))
        elif outcome in FAILING:
            seconds = min(2 * phase.seconds, MOST_SECONDS)
            self._open(now, phase.failures, ceil(now) + seconds, seconds)
        else:
            self._enter(replace(phase, begin=now, testing=False, tried=again))

    def _failed(self, call: TargetCall, now: float, phase: Phase) -> None:
        for each in self._near(now, call):
            works = isinstance(each, TargetCall) and each.outcome == "succeeds"
            if works and self._saw_failures.get(id(each)) is not False:
                self._lose(now)
                return
        if phase.failures + 1 < self.failures:
            self._enter(replace(phase, begin=now, failures=phase.failures + 1))
        else:
            self._open(now, phase.failures + 1, ceil(now) + self.open_seconds, self.open_seconds)

    def _alone(self, call: TargetCall, now: float) -> bool:
        """Whether no other call ended, and no operator did anything, from before this call until after it."""
        begin = call.began - self.lag - NEAR_SECONDS
        others = [at for at, kind, event in self._events if kind != 2 and event is not call]
        return not any(begin < at < now + NEAR_SECONDS for at in others)
