"""The interface of a gate that makes runs wait until a known instant.

A gate limits the attempts of all runs that share a key. It has one item for each key, and decides from the state in
that item. It only decides: its results are data, which `runner.py` executes. So a gate needs no store and no clock.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.job import Job, SharedLimit
from duecourse.domain.runs.rendering import concurrency_key
from duecourse.domain.runs.states import Run, Running
from duecourse.domain.targets.targets import Failed, Outcome
from duecourse.stores.table import Change, Condition, changes_to, holds

if TYPE_CHECKING:
    from duecourse.domain.runs.explain import Said

S = TypeVar("S")
"""The state of a gate: a dataclass whose fields are strings and integers with the defaults of an absent item."""

L = TypeVar("L", bound=SharedLimit)
"""The limit of a gate: the field of the job that has the gate's name."""


class KeyBusyError(Exception):
    """Other requests changed the key at each attempt to hold or to close it."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The gate lets the attempt start at `at` (UTC seconds), which may be in a moment or in the past."""

    at: float = 0.0


@dataclass(frozen=True, slots=True)
class At:
    """The run waits until `at` (UTC seconds). `in_turn`: the gate has given the run this instant; otherwise the run
    tries again then.
    """

    at: float
    in_turn: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """An entry for the report, and the metrics that count it. `alarming`: it is logged as an error."""

    action: str
    facts: Mapping[str, Any]
    counts: Mapping[str, int] = field(default_factory=dict)
    alarming: bool = False


@dataclass(frozen=True, slots=True)
class Write(Generic[S]):
    """Change the item of the gate if the condition holds, and decide again with the state after the write.

    - `then`: returns the decision once the write is made, instead of another decision. If the condition fails, another
      worker was first, and the gate decides again.
    - `to`: the state after the write. An item with this state shows that only the response to the write was lost.
    - `note`: what to report once the write is made.
    """

    changes: tuple[Change, ...]
    condition: Condition | None = None
    then: Callable[[S], Pass | At] | None = None
    to: S | None = None
    note: Note | None = None


@dataclass(frozen=True, slots=True)
class Starting(Generic[L]):
    """The start of an attempt, as a gate sees it.

    - `run`: its record, if it starts; `continued`: the record that it continues (None: there is none).
    - `limit`: the limit for `key`. `stored`: the limit applies to all jobs with the key.
    - `waited`: the run has waited before. `hold_seconds`: how long the worker can wait for the start.
    - `draw`: a random number in [0, 1).
    """

    run: Running
    continued: Run | None
    key: str
    limit: L
    stored: bool
    waited: bool
    hold_seconds: float
    now: float
    draw: float


@dataclass(frozen=True, slots=True)
class CallEnd(Generic[L]):
    """The end of a call. `again`: the gate has already returned a write for this end."""

    run: Running
    key: str
    limit: L
    outcome: Outcome
    again: bool
    now: float


class Gate(Generic[L, S]):
    """A gate. The methods that only some gates need do nothing by default.

    - `name`: the field of the job with the limit, and the name of the gate in records and documents.
    - `item`: the sort key of the gate's item, in the partition of the key.
    - `limit`, `state`: the types of the limit and of the state.
    - `keeps`: a run that waits keeps its instant; the gate is asked again only then.
    - `pauses`: the gate can make the runs of its key wait because a target has requested this (Retry-After).
    - `wakes`: runs that wait try again when an operator lets attempts start.
    - `not_recorded`: what to report if `called` fails.
    """

    name: ClassVar[str]
    item: ClassVar[str]
    limit: type[L]
    state: type[S]
    keeps: ClassVar[bool] = False
    pauses: ClassVar[bool] = False
    wakes: ClassVar[bool] = False
    not_recorded: ClassVar[Note | None] = None

    def key(self, limit: L, job: Job) -> str:
        """Return the key of a run. `job` has the payload of the run. Raises TemplateError."""
        return concurrency_key(limit.key or "", job.id, job.payload)

    def reads_limit(self, outcome: Outcome | None) -> bool:
        """Return whether the gate needs the stored limit of the key: at a start (None), or after a call."""
        return outcome is None

    def look(self, state: S, start: Starting[L]) -> Pass | At:
        """Decide whether the attempt may go on to the next gates, before the run takes what it would keep while it
        waits. Nothing is written.
        """
        return Pass()

    @abstractmethod
    def enter(self, state: S, start: Starting[L]) -> Pass | At | Write[S]:
        """Decide whether the attempt may start. `state` may be stale, because the writes have conditions."""

    def not_started(self, state: S, run: Running) -> Write[S] | None:
        """Give back what the attempt has taken, because its start was not recorded. `state` is the state after it
        entered.
        """

    def called(self, state: S, end: CallEnd[L]) -> Write[S] | None:
        """Record the outcome of the call. `state` is the state after the attempt entered."""

    @abstractmethod
    def held(self, state: S, until: float) -> Write[S] | None:
        """Start no attempt before `until` (UTC seconds). None if it is already so."""

    @abstractmethod
    def opened(self, state: S, now: float) -> Write[S] | None:
        """Let attempts start again after `held`. None if they may."""

    def paused_until(self, state: S) -> float:
        """Return the instant (UTC seconds) before which no attempt starts because the key is paused. 0: no pause."""
        return 0.0

    def document(self, state: S, now: float) -> Mapping[str, object]:
        """Return the fields of the state in the document of the key."""
        return {}

    def unused(self, state: S) -> bool:
        """Return whether the state shows no attempts that matter."""
        return True

    def said(self, state: S, key: str, paused_until: float, now: float) -> Sequence[Said]:
        """Return what the explanation of a waiting run says about the gate. `paused_until` is the end of the pause of
        the key as a concurrency key (UTC seconds); gates that store pauses themselves do not use it.
        """
        return said_of_pause(key, self.paused_until(state), now)


def said_of_pause(key: str, until: float, now: float) -> tuple[Said, ...]:
    """Return what an explanation says about the pause of a key, which ends at `until` (UTC seconds)."""
    if until <= now:
        return ()
    end = to_iso(int(until))
    sentence = f"The key {key} is paused until {end}: a target sent Retry-After, or an operator holds it."
    return ((sentence, {"paused_until": end}),)


SPREAD_SECONDS = 30
"""Attempts that wait for a gate which opens for all of them start within this time (seconds) after it."""


def share_of(run: str) -> float:
    """Return a number in [0, 1) that is the same for each attempt of the run."""
    return int.from_bytes(sha256(run.encode()).digest()[:4]) / 2**32


MAX_PAUSE_SECONDS = 900
"""The longest pause that a target can request with Retry-After (seconds)."""

PAUSING = ("http.429", "http.503")
"""The codes of failures after which Retry-After pauses a key."""


def pause_until(outcome: Outcome, now: float) -> float | None:
    """Return the instant (UTC seconds) until which no run with the key starts, because the target of an attempt
    requested a pause (429 or 503 with Retry-After): at most MAX_PAUSE_SECONDS. None without a pause. `max_seconds` of
    one job's retries does not shorten the pause, because the key protects a target that several jobs share.
    """
    if not isinstance(outcome, Failed) or outcome.code not in PAUSING or not outcome.retry_after:
        return None
    return now + min(outcome.retry_after, MAX_PAUSE_SECONDS)


def replacing(names: Sequence[str], before: S, after: S) -> tuple[Condition, tuple[Change, ...]]:
    """Return the condition and the changes that replace exactly these fields of `before` by those of `after`. Fields
    that are 0 or empty are not stored.
    """
    old, new = ({name: getattr(each, name) or None for name in names} for each in (before, after))
    return holds(old), changes_to(new)
