"""The messages in the lanes. Fields are only added, since old and new functions run at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, replace
from enum import StrEnum
from operator import attrgetter
from typing import Any, ClassVar, TypeAlias, get_args

import orjson

from duecourse.domain.documents import ANYTHING, COUNT, FLAG, INSTANT, NUMBER, PAIRS, SECONDS, TEXT, WHOLE
from duecourse.domain.ids import OfRun, RunIdentity, key_queue
from duecourse.domain.jobs.calendars import read_window
from duecourse.domain.jobs.job import Deadline, DeadlineEvent, Lane
from duecourse.domain.runs.states import Run
from duecourse.limits import OPERATIONS_LANE
from duecourse_schedules import ScheduleError, ScheduleSpec
from duecourse_schedules.schedule import OccurrenceRules

MAX_REPLACED = 20
"""Maximum number of messages that a copy lists. One is sufficient unless records repeatedly cannot be read."""


class MessageError(ValueError):
    """A message body that this version cannot read."""


class MessageKind(StrEnum):
    """The names of the commands in messages and logs."""

    START = "start"
    DEADLINE = "deadline"
    COMPLETE = "complete"
    FAIL = "fail"
    CANCEL = "cancel"
    REDRIVE = "redrive"
    EVALUATE = "evaluate"
    CHECK_START = "check_start"
    CHECK_FINISH = "check_finish"
    FORECAST = "forecast"


@dataclass(frozen=True, slots=True)
class StartAttempt:
    """Start an attempt. All other commands concern runs of which an attempt has been started."""

    kind: ClassVar[MessageKind] = MessageKind.START


@dataclass(frozen=True, slots=True)
class Redrive:
    """Grant a dead run further attempts. `unstarted` is true if it died before its first attempt, which the message's
    `attempt` cannot express because it counts from 1.
    """

    kind: ClassVar[MessageKind] = MessageKind.REDRIVE
    unstarted: bool = False


@dataclass(frozen=True, slots=True)
class CheckDeadline:
    """Check whether the run's deadline has passed. `deadline_message_id` identifies the message in the run's record.
    The invocation that sent the message before it started the attempt ends at `lease_until` (UTC seconds). The message
    was sent again `sent_again` times with this id.
    """

    kind: ClassVar[MessageKind] = MessageKind.DEADLINE
    deadline_message_id: str | None = None
    lease_until: float | None = None
    sent_again: int | None = None


@dataclass(frozen=True, slots=True)
class Complete:
    """The callback has completed the run with this result (JSON). `worker` is the name of the program."""

    kind: ClassVar[MessageKind] = MessageKind.COMPLETE
    result: Any = None
    worker: str | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """The callback has reported a failed attempt. `retry_after` is in seconds. If `retryable` is None, the job's policy
    decides. `worker` is the name of the program.
    """

    kind: ClassVar[MessageKind] = MessageKind.FAIL
    error: str | None = None
    code: str | None = None
    retryable: bool | None = None
    retry_after: float | None = None
    worker: str | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel the run for this reason."""

    kind: ClassVar[MessageKind] = MessageKind.CANCEL
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Check whether the steps of a workflow's run have ended."""

    kind: ClassVar[MessageKind] = MessageKind.EVALUATE


@dataclass(frozen=True, slots=True)
class CheckStart:
    """Check whether the run has started by its job's deadline. There is one such command for each deadline, since a run
    has one timer for each kind of message.
    """

    kind: ClassVar[MessageKind] = MessageKind.CHECK_START
    deadline: ClassVar[DeadlineEvent] = DeadlineEvent.START


@dataclass(frozen=True, slots=True)
class CheckFinish:
    """Check whether the run has finished by its job's deadline."""

    kind: ClassVar[MessageKind] = MessageKind.CHECK_FINISH
    deadline: ClassVar[DeadlineEvent] = DeadlineEvent.FINISH


@dataclass(frozen=True, slots=True)
class CheckForecast:
    """Check whether the run is predicted to end by its deadline. `lease_until` (UTC seconds) is that of the invocation
    that sent the message before it wrote the start of the attempt.
    """

    kind: ClassVar[MessageKind] = MessageKind.FORECAST
    lease_until: float | None = None


Command: TypeAlias = (
    StartAttempt
    | Redrive
    | CheckDeadline
    | Complete
    | Fail
    | Cancel
    | Evaluate
    | CheckStart
    | CheckFinish
    | CheckForecast
)
COMMANDS: dict[MessageKind, type[Command]] = {each.kind: each for each in get_args(Command)}
_COMMAND_FIELDS = {each: tuple(field.name for field in fields(each)) for each in COMMANDS.values()}

START = StartAttempt()


@dataclass(frozen=True, slots=True)
class RunMessage(OfRun):
    """A command about attempt `attempt` of a run, not to be executed before `not_before`. Instants are UTC seconds.

    `nonce` is new at each send: if the nonce of a dead run has another message id, the run was redriven. `caught_up_at`
    is set if the run covers missed occurrences: it is the dispatcher's time. `waited` is true if the run has left the
    wait queue to start. `watch` is the nonce of the wait queue's watch, if the message is that watch. `final` is true
    if no occurrence follows this one, regardless of the schedule (`max_runs`). `following` is the time at which the
    next occurrence is due. `rules` are set if the run covers several missed occurrences: they are the rules that
    produced these occurrences. `replaces` has the ids and nonces of the messages that this one replaces and continues,
    newest last. `bulk` is true if the message goes to the bulk queue of its lane (domain.tenants.seats). `key` is set
    if the message was in the wait queue of a concurrency key. `call` is the id of a call, a message that the wait queue
    sent to start a run (`ports.QueueWatch`).
    """

    identity: RunIdentity
    lane: Lane
    not_before: float
    nonce: str
    attempt: int = 1
    caught_up_at: float | None = None
    final: bool = False
    command: Command = START
    waited: bool = False
    following: int | None = None
    rules: OccurrenceRules | None = None
    replaces: tuple[tuple[str, str], ...] = ()
    watch: str | None = None
    bulk: bool = False
    key: str | None = None
    call: str | None = None

    @property
    def wait_queue(self) -> str:
        """The name of the wait queue in which the message was: that of its key (`key_queue`), or else its job's id."""
        return self.job_id if self.key is None else key_queue(self.key)

    @property
    def kind(self) -> MessageKind:
        """The name of the command."""
        return self.command.kind

    @property
    def deadline(self) -> DeadlineEvent | None:
        """The job's deadline that the message checks; None if it checks none."""
        return self.command.deadline if isinstance(self.command, CheckStart | CheckFinish) else None

    @property
    def requests_attempt(self) -> bool:
        """Whether the message requests an attempt, either the first or another one."""
        return isinstance(self.command, StartAttempt | Redrive)

    @property
    def starts_run(self) -> bool:
        """Whether the message requests the first attempt of a run and is not a redrive."""
        return isinstance(self.command, StartAttempt) and self.attempt == 1

    def to_json(self) -> str:
        """Return the message body, without empty fields."""
        body: dict[str, Any] = {
            name: value
            for name, value in zip(_WRITTEN, _read(self), strict=True)
            if value is not None and value is not False and value not in ("", ())
        }
        if self.wait_priority:
            body["wait_priority"] = self.wait_priority
        command = self.command
        if not isinstance(command, StartAttempt):  # most messages start an attempt
            said = {name: getattr(command, name) for name in _COMMAND_FIELDS[type(command)]}
            body |= {"kind": command.kind} | {name: value for name, value in said.items() if value is not None}
        return orjson.dumps(body).decode()

    def to_start(self, attempt: int, *, nonce: str, not_before: float) -> RunMessage:
        """Return the message that starts a later attempt of the same run, whatever the kind of this message."""
        return RunMessage(
            self.identity,
            self.lane,
            not_before,
            nonce,
            attempt,
            caught_up_at=self.caught_up_at,
            rules=self.rules,
            final=self.final,
            bulk=self.bulk,
        )

    @property
    def starts(self) -> int:
        """The number of the attempt that the message requests, if it requests one. A redrive has the number of the
        attempt that died.
        """
        return self.attempt + (isinstance(self.command, Redrive) and not self.command.unstarted)

    def again(self, *, nonce: str, not_before: float | None = None, instead_of: str | None = None) -> RunMessage:
        """Return a copy with a new nonce. If the copy replaces this message, `instead_of` is the id under which this
        message was received.
        """
        replaced = () if instead_of is None else ((instead_of, self.nonce),)
        return replace(
            self,
            nonce=nonce,
            not_before=self.not_before if not_before is None else not_before,
            replaces=(*self.replaces, *replaced)[-MAX_REPLACED:],
        )


@dataclass(frozen=True, slots=True)
class OperationMessage:
    """Handle page `page` of an operation (domain.runs.operations), and send the message of the next page. `sent_at` is
    when the first message of the page was sent (UTC seconds); `nonce` is new at each send.

    It goes to the bulk queue of its lane, so that a backlog of runs does not delay it, and that it takes no worker from
    jobs with seats.
    """

    tenant: str
    operation: str
    page: int
    sent_at: float
    nonce: str

    lane: ClassVar[Lane] = Lane(OPERATIONS_LANE)
    bulk: ClassVar[bool] = True

    def to_json(self) -> str:
        """Return the message body."""
        return orjson.dumps({name: getattr(self, name) for name in _OF_OPERATIONS}).decode()

    def again(self, *, nonce: str) -> OperationMessage:
        """Return a copy with a new nonce."""
        return replace(self, nonce=nonce)


_OF_OPERATIONS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "tenant": TEXT,
    "operation": TEXT,
    "page": WHOLE,
    "sent_at": NUMBER,
    "nonce": TEXT,
}


def deadline_checks(
    start: RunMessage, deadlines: Iterable[Deadline], timezone: str, nonce: Callable[[], str]
) -> Iterator[RunMessage]:
    """Yield the messages that check the deadlines of the run that `start` starts. They go through the `high` lane, so
    that a backlog in the run's lane does not delay them. A time zone that no longer exists has no times.
    """
    commands = {each.deadline: each() for each in (CheckStart, CheckFinish)}
    for deadline in deadlines:
        with suppress(ScheduleError):
            if (at := deadline.instant(start.due, timezone)) is not None:
                command = commands[deadline.event]
                yield RunMessage(start.identity, Lane.HIGH, float(at), nonce(), command=command, bulk=start.bulk)


def message_about(run: Run, command: Command, *, now: float, nonce: str) -> RunMessage:
    """Return a message about a run's current attempt, to be executed now. For a redrive, `unstarted` is set from the
    run.
    """
    if isinstance(command, Redrive):
        command = Redrive(unstarted=run.attempt == 0)
    return RunMessage(
        run.identity,
        run.lane,
        now,
        nonce,
        max(run.attempt, 1),  # a queued run has attempt 0: the message is about its first attempt
        command=command,
    )


def read_message(body: str) -> RunMessage | OperationMessage:
    """Parse a message body of a lane. Unknown fields are ignored. Raises MessageError, with the field."""
    raw = _parsed(body)
    if "operation" not in raw:
        return _run_message(raw)
    for name, (reads, wants) in _OF_OPERATIONS.items():
        if not reads(raw.get(name)):
            raise MessageError(f"not an operation message: {name} is {str(raw.get(name))[:40]!r}, expected {wants}")
    return OperationMessage(**{name: raw[name] for name in _OF_OPERATIONS})


def read_run_message(body: str) -> RunMessage:
    """Parse a message body. Unknown fields are ignored. Raises MessageError, with the field, if it is not a run
    message.
    """
    return _run_message(_parsed(body))


def _parsed(body: str) -> dict[str, Any]:
    try:
        raw = orjson.loads(body)
    except ValueError as problem:
        raise MessageError(f"not a run message: not valid JSON ({problem})") from problem
    if not isinstance(raw, dict):
        raise MessageError("not a run message: not a JSON object")
    return raw


def _run_message(raw: Mapping[str, Any]) -> RunMessage:
    values: dict[str, Any] = {}
    for name, (reads, wants) in _FIELDS.items():
        value = raw.get(name)
        if value is not None:
            if not reads(value):
                raise MessageError(f"not a run message: {name} is {str(value)[:40]!r}, expected {wants}")
            values[name] = value
        elif name in _REQUIRED:
            raise MessageError(f"not a run message: {name} is missing")
    command = COMMANDS[MessageKind(values.pop("kind", MessageKind.START))]
    said = {name: values.pop(name) for name in _OF_COMMANDS if name in values}
    values["command"] = command(**{name: said[name] for name in _COMMAND_FIELDS[command] if name in said})
    if "rules" in values:
        values["rules"] = _rules(values["rules"])
    values["replaces"] = tuple((message_id, nonce) for message_id, nonce in values.get("replaces", ()))
    values |= {"lane": Lane(values["lane"]), "not_before": float(values["not_before"])}
    return RunMessage(RunIdentity(**{name: values.pop(name) for name in _IDENTITY & values.keys()}), **values)


def _rules(raw: dict[str, Any]) -> OccurrenceRules:
    """Parse rules. Fields of later versions are ignored."""
    spec = {
        field.name: raw["schedule"].get(field.name) for field in fields(ScheduleSpec) if field.name in raw["schedule"]
    }
    delays = (raw.get(name, 0) for name in ("jitter_seconds", "offset_seconds"))
    return OccurrenceRules(ScheduleSpec(**spec), tuple(map(read_window, raw.get("exclude", ()))), *delays)


def _are_rules(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("schedule"), dict) and "expression" in value["schedule"]


_FIELDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "tenant": TEXT,
    "job_id": TEXT,
    "occurrence": INSTANT,
    "due": INSTANT,
    "generation": WHOLE,
    "lane": (tuple(Lane).__contains__, "one of " + ", ".join(Lane)),
    "not_before": NUMBER,
    "nonce": TEXT,
    "attempt": COUNT,
    "suffix": TEXT,
    "count": COUNT,
    "through": INSTANT,
    "caught_up_at": NUMBER,
    "final": FLAG,
    "kind": (tuple(MessageKind).__contains__, "one of " + ", ".join(MessageKind)),
    "result": ANYTHING,
    "error": TEXT,
    "code": TEXT,
    "retryable": FLAG,
    "retry_after": SECONDS,
    "reason": TEXT,
    "own_payload": FLAG,
    "requested_by": TEXT,
    "correlation_id": TEXT,
    "workflow": TEXT,
    "at_once": COUNT,
    "wait_priority": WHOLE,
    "items_within": COUNT,
    "items": TEXT,
    "unstarted": FLAG,
    "waited": FLAG,
    "following": INSTANT,
    "rules": (_are_rules, "the rules of a schedule"),
    "replaces": PAIRS,
    "watch": TEXT,
    "deadline_message_id": TEXT,
    "lease_until": NUMBER,
    "sent_again": COUNT,
    "bulk": FLAG,
    "key": TEXT,
    "call": TEXT,
    "worker": TEXT,
}
_IDENTITY = frozenset(field.name for field in fields(RunIdentity) if field.init)
_OF_COMMANDS = frozenset(name for names in _COMMAND_FIELDS.values() for name in names)
_WRITTEN = tuple(name for name in _FIELDS if name not in {"kind", "wait_priority", *_OF_COMMANDS})
_read = attrgetter(*(f"identity.{name}" if name in _IDENTITY else name for name in _WRITTEN))
_REQUIRED = _FIELDS.keys() & {
    field.name for field in (*fields(RunIdentity), *fields(RunMessage)) if field.default is MISSING
}
