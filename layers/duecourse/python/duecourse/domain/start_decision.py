"""What a worker holds when it decides on a message, and what it can decide."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.domain.run import Run


@dataclass(frozen=True, slots=True)
class Handover:
    """What a worker holds in hand. `token` names this invocation and message; `lease_until` is when Lambda kills it."""

    message_id: str
    token: str
    lease_until: float
    expires_at: int


@dataclass(frozen=True, slots=True)
class Offer:
    """What the message says (see `messages.RunMessage`; the domain does not import it)."""

    tenant: str
    job_id: str
    occurrence: int
    due: int
    generation: int
    nonce: str
    attempt: int
    suffix: str
    count: int
    through: int | None
    caught_up_at: float | None
    final: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """Write `run` (RUNNING) over `previous` (None: nothing may be there) and call the target."""

    run: Run
    previous: Run | None
    reason: str


@dataclass(frozen=True, slots=True)
class Bury:
    """Write `run` (DEAD or SKIPPED, its last attempt vanished) over `previous`, then go on as from that record."""

    run: Run
    previous: Run
    reason: str


@dataclass(frozen=True, slots=True)
class Skip:
    """Write `run` (SKIPPED) where nothing is, and let the message go."""

    run: Run
    reason: str


@dataclass(frozen=True, slots=True)
class Drop:
    """Let the message go; nothing is written."""

    reason: str


@dataclass(frozen=True, slots=True)
class FollowUp:
    """The record is already past this message: repeat what follows from it (all of that is idempotent)."""

    run: Run
    reason: str


@dataclass(frozen=True, slots=True)
class Leave:
    """This message's own attempt may still be alive: look again at `until` (UTC seconds)."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class Remainder:
    """The message stands for more missed occurrences than the run of its name, which is there already: what is left
    of them, from `occurrence` (due at `due`) on, is `count` and needs a run of its own.
    """

    occurrence: int
    due: int
    count: int
    reason: str


StartDecision = Start | Bury | Skip | Drop | FollowUp | Leave | Remainder
