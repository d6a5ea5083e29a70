"""Decides whether an attempt may start while the target of a job with a circuit breaker fails.

The failures of a key are counted until an attempt succeeds. After enough of them the breaker opens: attempts wait until
a known instant. The first attempt after it is the probe. If it succeeds, or its target rejects only this request, the
breaker closes; if it fails, the breaker opens for twice as long. Each change except the count replaces exactly the
state that was read, so late, repeated or lost messages never cause two probes after one opening. If the worker of a
probe dies, the next attempt after its lease is the probe.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS, millisecond, to_iso
from duecourse.domain.jobs.job import MAX_OPEN_SECONDS, Breaker, Job
from duecourse.domain.runs.rendering import as_key
from duecourse.domain.runs.states import Running
from duecourse.domain.targets.targets import CONNECTOR_UNAVAILABLE, Failed, HttpTarget, Outcome
from duecourse.domain.targets.template import TemplateError
from duecourse.gates.gate import SPREAD_SECONDS, At, CallEnd, Gate, Note, Pass, Starting, Write, replacing, share_of
from duecourse.limits import MAX_DELAY_SECONDS
from duecourse.stores.table import Add

if TYPE_CHECKING:
    from duecourse.domain.runs.explain import Said

PROBING_SECONDS = (5.0, 30.0)
"""While a probe is in progress, other attempts try again after a time between these (seconds)."""

FIRST_OPEN_SECONDS = 60
"""If the first probe after an operator's hold fails, the breaker opens for twice this time (seconds)."""

_COUNTED = re.compile(r"http\.(429|5\d\d)|timeout|connection|tls")
_OWN_FAULTS = frozenset(
    {"internal", "secrets_unavailable", "token_unavailable", "tasks_unavailable", CONNECTOR_UNAVAILABLE}
)

BreakerWord = Literal["closed", "open", "half_open"]


@dataclass(frozen=True, slots=True)
class BreakerState:
    """The state of a breaker (UTC seconds; 0: none). No attempt starts before `open_until`; after it, only the probe
    may start. If `open_until` is 0, the breaker is closed. It was opened for `open_seconds`. `failures` counts the
    failures since the last success. `probe` is the fencing token of the probe, whose lease has ended by
    every clock at `probe_until`.
    """

    failures: int = 0
    open_until: int = 0
    open_seconds: int = 0
    probe: str = ""
    probe_until: int = 0

    def word(self, now: float) -> BreakerWord:
        """Return whether the breaker is `closed`, `open` or, after `open_until`, `half_open`."""
        if not self.open_until:
            return "closed"
        return "open" if now < self.open_until else "half_open"


@dataclass(frozen=True, slots=True)
class Closed:
    """The attempt may start: the breaker is closed, or the attempt is its probe."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The attempt may start as the probe once `after` has replaced the state."""

    after: BreakerState


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """The attempt tries again at `at` (UTC seconds)."""

    at: float


class Verdict(StrEnum):
    """The effect of an attempt on its circuit breaker. REJECTS: the target responded and rejected only this request,
    which closes a half-open breaker but does not clear the failures of a closed one. NOTHING: the outcome does not show
    whether the target works.
    """

    WORKS = "works"
    REJECTS = "rejects"
    FAILS = "fails"
    NOTHING = "nothing"


def verdict_of(outcome: Outcome) -> Verdict:
    """Return the effect of a call's outcome on the circuit breaker. For an HTTP target, 429 and 5xx count as failures,
    and other statuses as rejections. For other targets, errors count as failures after which a later attempt may
    succeed, and an exception of a function that forbids this as a rejection.
    """
    match outcome:
        case Failed(code=code) if _COUNTED.fullmatch(code):
            return Verdict.FAILS
        case Failed(code=code, forbidden=forbidden) if forbidden or code.startswith("http."):
            return Verdict.REJECTS
        case Failed(code=code, retryable=retryable):
            return Verdict.FAILS if retryable and code not in _OWN_FAULTS else Verdict.NOTHING
        case _:
            return Verdict.WORKS


def decide_start(
    state: BreakerState, run: str, token: str, *, now: float, lease_until: float, draw: float
) -> Closed | Probe | WaitUntil:
    """Decide whether an attempt may start. `run` is the id of its run, and `token` is its fencing token. `state` may be
    stale, because the write that starts a probe is conditional. `draw` is a random number in [0, 1).
    """
    if not state.open_until or state.probe == token:
        return Closed()
    if now < state.open_until:
        # An operator may hold a key for a day and close the breaker earlier: a run detects this when it tries again.
        at = min(state.open_until, now + MAX_DELAY_SECONDS - SPREAD_SECONDS)
        return WaitUntil(at + min(SPREAD_SECONDS, state.open_seconds) * share_of(run))
    if now < state.probe_until:
        first, last = PROBING_SECONDS
        return WaitUntil(now + first + (last - first) * draw)
    return Probe(replace(state, probe=token, probe_until=ceil(lease_until + CLOCKS_DIFFER_SECONDS)))


def decide_end(state: BreakerState, verdict: Verdict, token: str, rule: Breaker, *, now: float) -> BreakerState:
    """Return the state after an attempt with this fencing token. `state` already counts its failure."""
    if state.open_until and state.probe != token:
        return state  # only its probe changes an open breaker
    match verdict:
        case Verdict.WORKS:
            return BreakerState()
        case Verdict.REJECTS:
            return BreakerState() if state.open_until else state
        case Verdict.NOTHING:
            return without_probe(state)
        case Verdict.FAILS if not state.open_until and state.failures < rule.failures:
            return state
        case Verdict.FAILS:
            longer = min(2 * state.open_seconds, MAX_OPEN_SECONDS) if state.open_until else rule.open_seconds
            return BreakerState(state.failures, ceil(now) + longer, longer)


def without_probe(state: BreakerState) -> BreakerState:
    """Return the state of a half-open breaker whose next attempt is the probe."""
    return replace(state, probe="", probe_until=0)


def held_until(state: BreakerState, until: float) -> BreakerState:
    """Return the state of a breaker that an operator keeps open until this instant (UTC seconds), or longer if it is
    open longer.
    """
    if state.open_until >= until:
        return state
    return BreakerState(state.failures, ceil(until), state.open_seconds or FIRST_OPEN_SECONDS)


class BreakerGate(Gate[Breaker, BreakerState]):
    """The circuit breaker of a key. It is read before a run takes what it would keep or waste while it waits, and the
    attempt becomes the probe after that.
    """

    name = "breaker"
    item = "BREAKER"
    limit = Breaker
    state = BreakerState
    wakes = True
    not_recorded = Note("breaker_not_changed", {}, alarming=True)

    def key(self, limit: Breaker, job: Job) -> str:
        """Return the rendered key: by default the host of the target's URL, and its connector. Networks of different
        connectors may use the same names and addresses.
        """
        if limit.key is not None:
            return super().key(limit, job)
        match job.target:
            case HttpTarget(url=url, via=via) if host := urlsplit(url).hostname:
                return as_key(host if via is None else f"{host} via {via}")
            case _:
                raise TemplateError("the circuit breaker needs a key, because the target is not an HTTP endpoint")

    def reads_limit(self, outcome: Outcome | None) -> bool:
        """Return whether the call failed: only then does the limit matter."""
        return outcome is not None and verdict_of(outcome) is Verdict.FAILS

    def look(self, state: BreakerState, start: Starting[Breaker]) -> Pass | At:
        """Return whether the breaker may let the attempt start."""
        decision = _decided(state, start)
        return At(decision.at) if isinstance(decision, WaitUntil) else Pass()

    def enter(self, state: BreakerState, start: Starting[Breaker]) -> Pass | At | Write[BreakerState]:
        """Make the attempt the probe if the breaker needs one."""
        match _decided(state, start):
            case Closed():
                return Pass()
            case WaitUntil(at):
                return At(at)
            case Probe(after):
                return replaced(state, after)

    def not_started(self, state: BreakerState, run: Running) -> Write[BreakerState] | None:
        """Let another attempt be the probe if this one has become the probe but does not start, because its message is
        late and its run has ended (the write of the start shows this), or because of an error up to that write. An
        attempt that started earlier may fail in the meantime, which changes the state.
        """
        return replaced(state, without_probe(state)) if state.probe == run.fencing_token else None

    def called(self, state: BreakerState, end: CallEnd[Breaker]) -> Write[BreakerState] | None:
        """Count a failure, and open or close the breaker. Repeated failures may be counted twice if the response to a
        write is lost.
        """
        verdict, token = verdict_of(end.outcome), end.run.fencing_token
        if verdict is Verdict.FAILS and not end.again and state.probe != token:
            return counted_failure()
        after = decide_end(state, verdict, token, end.limit, now=end.now)
        return None if after == state else replaced(state, after, _note(end.key, after))

    def held(self, state: BreakerState, until: float) -> Write[BreakerState] | None:
        """Open the breaker until then."""
        after = held_until(state, until)
        return None if after == state else replaced(state, after)

    def opened(self, state: BreakerState, now: float) -> Write[BreakerState] | None:
        """Close the breaker."""
        return None if state == BreakerState() else replaced(state, BreakerState())

    def unused(self, state: BreakerState) -> bool:
        """Return whether no failure is counted."""
        return state == BreakerState()

    def document(self, state: BreakerState, now: float) -> Mapping[str, object]:
        """Return the state, the failures and the end of an open breaker."""
        return {
            "breaker_state": state.word(now),
            "breaker_failures": state.failures,
            "breaker_open_until": millisecond(state.open_until) if state.open_until else None,
        }

    def said(self, state: BreakerState, key: str, paused_until: float, now: float) -> Sequence[Said]:
        """Say why the breaker is open."""
        failed = f"{state.failures} attempt{'s' * (state.failures != 1)} in a row failed"
        held = not state.failures or ceil(paused_until) == state.open_until  # see key_limits.hold
        because = "an operator holds the key" if held else failed
        match state.word(now):
            case "open":
                word = f"open until {to_iso(state.open_until)}, because {because}"
            case "half_open":
                word = "half open: one attempt tests the target"
            case "closed":
                word = "closed again, so the run starts at that time"
        return ((f"The circuit breaker is {word}.", {"breaker": state.word(now), "failures": state.failures}),)


FIELDS = ("failures", "open_until", "open_seconds", "probe", "probe_until")
"""The fields of `BreakerState`."""


def _decided(state: BreakerState, start: Starting[Breaker]) -> Closed | Probe | WaitUntil:
    run = start.run
    return decide_start(
        state, run.run_id, run.fencing_token, now=start.now, lease_until=run.lease_until, draw=start.draw
    )


def counted_failure() -> Write[BreakerState]:
    """Return the write that counts a failure."""
    return Write((Add("failures", 1),))


def replaced(before: BreakerState, after: BreakerState, note: Note | None = None) -> Write[BreakerState]:
    """Return the write that replaces exactly `before` by `after`."""
    condition, changes = replacing(FIELDS, before, after)
    return Write(changes, condition, to=after, note=note)


def _note(key: str, after: BreakerState) -> Note | None:
    if after.open_until and not after.probe_until:
        facts = {"key": key, "failures": after.failures, "until": after.open_until}
        return Note("breaker_opened", facts, counts={"BreakersOpened": 1})
    return None if after.open_until else Note("breaker_closed", {"key": key})
