"""The scene: one job of each kind, runs in every state and messages of every kind, at one moment."""

from dataclasses import dataclass
from typing import Any

from duecourse.domain.jobs.backfill import Backfill
from duecourse.domain.jobs.job import (
    Backoff,
    Breaker,
    Completion,
    Concurrency,
    Job,
    Lane,
    MissedMode,
    MissedPolicy,
    NoticeCause,
    NotifyRule,
    NotifyTarget,
    Overlap,
    Rate,
    ResultLocation,
    RetryPolicy,
    Spread,
)
from duecourse.domain.jobs.pause import pause
from duecourse.domain.runs.api_keys import ApiKey, key_text
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call, Outgoing
from duecourse.usecases.runs.requests import OwnPayload, RunRequest
from tests.support.jobs import NOON, job
from tests.support.wheel import Held
from tests.support.world import Killed, World

MOMENT = NOON + 290.0
"""When the scene is looked at: after four ticks."""

ONCE = RetryPolicy(max_attempts=1)
TEN_MINUTES = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=600, max_seconds=600)
AN_HOUR = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=3600, max_seconds=3600)


PAUSE_SECONDS = 12
"""For how long the target of a job with a rate asks for a pause."""


def answer(call: Call) -> Outcome:
    """What the targets of the scene's jobs answer, in every release."""
    if call.job.id == "asks-for-a-pause" and call.run.attempt == 1:
        return Failed("too fast", retry_after=PAUSE_SECONDS, code="http.429")
    if call.job.id in {"dies", "dies-again", "breaks"}:
        return Failed("503 Service Unavailable")
    if call.job.id in {"fails", "fails-for-long", "keeps-its-lock"} and call.run.attempt == 1:
        return Failed("not yet")
    return Returned("fine")


@dataclass
class Killing:
    """The worker of one job is killed in the midst of its first call."""

    killed: bool = False

    def __call__(self, call: Call) -> Outcome:
        if call.job.id == "slow" and not self.killed:
            self.killed = True
            raise Killed
        return answer(call)


def play(world: World) -> None:
    """Everything that a table and a lane can hold, at MOMENT."""
    world.caller.answer = Killing()
    for made in _jobs():
        world.add(made)
    _wait(world)
    _until(world, NOON + 60)
    _ask(world)
    _until(world, MOMENT)
    _tell(world)
    _run(world, OwnPayload({"given": "on its way"}), key="another-key")
    doomed = world.jobs.get("default", "deleted")
    assert doomed is not None
    assert world.jobs.delete(doomed, deleted_at=world.clock.now())
    world.tables.tick_mark().mark(world.clock.now())


def _jobs() -> list[Job]:
    """One of each kind; `retry` and times are such that each stands somewhere else at MOMENT."""
    soon = "at(2026-11-21T12:01:{:02d})".format
    return [
        job("rate(1 minute)", id="steady", overlap=Overlap.ALLOW, max_runs=12),
        job(
            "0 3 * * 1-5",
            id="nightly",
            timezone="Europe/Berlin",
            name="Every night",
            payload={"text": "x" * 5000, "list": [1, None, 2.5]},
            tags=("billing", "reports"),
            exclude=("2026-12-25",),
            jitter_seconds=30,
            spread=Spread(30, 17),
            priority=Lane.HIGH,
            missed=MissedPolicy(MissedMode.RUN_ALL, 120, 5),
            retry=RetryPolicy(7, Backoff.LINEAR, 1, 60),
            idempotency_key="{{run_id}}",
            max_runs=9,
        ),
        job("at(2026-11-21T13:00:00)", id="later", payload={"n": 1}),
        job(soon(5), id="once", results=ResultLocation("reports", "daily/")),
        job(soon(6), id="fails", retry=TEN_MINUTES),
        job(soon(6), id="fails-for-long", retry=AN_HOUR),
        job(soon(7), id="dies", retry=ONCE),
        job("at(2026-11-21T12:03:30)", id="slow", timeout_seconds=60),
        job("rate(2 minutes)", id="keeps-its-lock", retry=TEN_MINUTES, max_runs=9),
        job("rate(10 minutes)", id="missed", at=NOON - 1800, missed=MissedPolicy(MissedMode.SKIP, 60, 10)),
        job("rate(10 minutes)", id="caught-up", at=NOON - 1800),
        job("at(2026-11-21T12:10:00)", id="deleted"),
        job(
            "rate(3 minutes)",
            id="has-deadlines",
            overlap=Overlap.ALLOW,
            start_within_seconds=60,
            finish_by="13:05",
            notify=(NotifyRule((NoticeCause.DEAD,), NotifyTarget("once")),),
            max_runs=3,
        ),
    ]


def _wait(world: World) -> None:
    """Runs whose work goes on elsewhere."""
    soon = "at(2026-11-21T12:01:{:02d})".format
    waits: dict[str, Any] = {"completion": Completion.CALLBACK, "completion_seconds": 3600}
    for second, name in enumerate(("waits", "is-completed", "is-given-up", "is-cancelled", "was-cancelled"), 10):
        world.add(job(soon(second), id=name, retry=ONCE, **waits))
    world.add(job(soon(20), id="beats", retry=ONCE, heartbeat_seconds=600, **waits))
    world.add(job(soon(21), id="dies-again", retry=ONCE))
    queues = waits | {"completion_seconds": 300}
    shares = queues | {"overlap": Overlap.ALLOW, "concurrency": Concurrency("crm", 1), "retry": ONCE, "max_runs": 1}
    for name in ("shares", "shares-too"):
        world.add(job("rate(1 minute)", id=name, **shares))
    world.office.api.key_limits.put("default", "erp", 3, by="anna")
    text = key_text("default", "n" * 32)
    of_job = world.jobs.get("default", "waits")
    assert of_job is not None
    generation, until = of_job.created_generation, int(NOON) + 90 * 86_400
    key = ApiKey("default", text.id, text.hash, "waits", generation, "GitHub", NOON, "anna", until)
    world.jobs.api_keys.add(key, world.jobs.api_keys.all("default").version)
    rated: dict[str, Any] = {"overlap": Overlap.ALLOW, "rate": Rate("crm", 1, 1), "retry": ONCE, "max_runs": 1}
    for name in ("is-rated", "is-rated-too"):
        world.add(job("rate(1 minute)", id=name, **rated))
    breaker = Breaker("crm", 1, 900)
    world.add(job("rate(1 minute)", id="breaks", overlap=Overlap.ALLOW, breaker=breaker, retry=ONCE, max_runs=2))
    world.add(job("rate(1 minute)", id="queues", overlap=Overlap.QUEUE, max_runs=3, retry=ONCE, **queues))


def play_limits(world: World) -> None:
    """Jobs that are run on request: some share a concurrency key, some a rate, one has a wait queue of its own."""
    waits: dict[str, Any] = {"completion": Completion.CALLBACK, "completion_seconds": 11, "retry": ONCE}
    for name in ("shares", "shares-too"):
        world.add(job("", id=name, overlap=Overlap.ALLOW, concurrency=Concurrency("crm", 2), **waits))
    world.add(job("", id="queues", overlap=Overlap.QUEUE, **waits))
    again = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=1, max_seconds=60)
    for name in ("is-rated", "asks-for-a-pause"):
        world.add(job("", id=name, overlap=Overlap.ALLOW, rate=Rate("api", 12, 2), retry=again))
    both: dict[str, Any] = {"concurrency": Concurrency("both", 1), "rate": Rate("api", 12, 2), "retry": ONCE}
    world.add(job("", id="is-rated-and-shares", overlap=Overlap.ALLOW, **both))


def run_now(world: World, job_id: str) -> None:
    """Anna runs a job."""
    manual = world.api.manual
    manual.run(manual.job("default", job_id), RunRequest("anna"), OwnPayload({"of": job_id}))


def _run(world: World, payload: OwnPayload, *, key: str) -> None:
    """Anna runs the job now; by the use case, since the scene is played by an earlier release's world, too."""
    manual = world.api.manual
    manual.run(manual.job("default", "tick-tock"), RunRequest("anna", key), payload)


def _ask(world: World) -> None:
    """What people ask for: a run now with a payload of its own, a backfill that takes its time, a pause."""
    world.add(job("0 * * * *", id="tick-tock", overlap=Overlap.ALLOW))
    _run(world, OwnPayload({"given": "by hand"}), key="a-key")
    found, standing = world.jobs.get_both("default", "tick-tock")
    assert found is not None
    assert standing is not None
    world.api.backfills.start(found, Backfill(int(NOON) - 4 * 3600, int(NOON), 1200, False), RunRequest("anna"))
    change = pause(found, standing, now=world.clock.now())
    assert world.jobs.change(found, standing, change.job, change.cursor)


def _tell(world: World) -> None:
    """Messages of every kind that the API sends: some were worked on, some are on their way at MOMENT."""

    def about(job_id: str, kind: MessageKind, **said: Any) -> Any:
        return world.about(world.runs(job_id)[0], kind, **said)

    world.tell(about("was-cancelled", MessageKind.CANCEL, reason="no longer wanted"))
    for message in (
        about("is-completed", MessageKind.COMPLETE, result={"rows": 3}),
        about("is-given-up", MessageKind.FAIL, error="disk full", code="disk", retryable=False),
        about("is-cancelled", MessageKind.CANCEL, reason="no longer wanted"),
        about("dies-again", MessageKind.REDRIVE),
    ):
        world.wheel.send([Outgoing(message, 1)])


def _until(world: World, instant: float) -> None:
    """Let time pass; what a killed worker had comes back after its visibility time-out, as SQS does it."""
    while True:
        receive = world.wheel.receive
        taken: list[Held] = []

        def receiving(receive: Any = receive, taken: list[Held] = taken) -> Held | None:
            held: Held | None = receive()
            if held is not None:
                taken.append(held)
            return held

        world.wheel.receive = receiving  # type: ignore[method-assign]
        try:
            world.until(instant)
        except Killed:
            world.wheel.put_back(taken[-1])
        else:
            return
        finally:
            del world.wheel.receive  # the class's own again
