"""Forecasts of runs: the notice `at_risk` comes before the deadline, once, and only for jobs that request it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from duecourse.client import ApiError
from duecourse.domain.ids import to_basic
from duecourse.domain.jobs.job import Completion, NoticeCause, NotifyRule, NotifyTarget, Overlap
from duecourse.domain.runs.states import RunState
from duecourse.messages import MessageKind
from duecourse.ports import Outgoing
from duecourse.testing import Scheduler
from duecourse.testing.faults import Fault, failing, lost
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.wheel import Held
from tests.support.world import Killed, World

MACHINE = {"type": "stepfunctions", "machine": "duecourse-target-work"}
HTTP = {"type": "http", "url": "https://example.com/hook"}
ETL: Mapping[str, Sequence[str]] = {"extract": (), "transform": ("extract",), "load": ("transform",)}
DAYS = 4


def step(after: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    job = {"target": MACHINE, "completion": "end", "completion_seconds": 86_400, "retry": {"max_attempts": 1}}
    return {"after": list(after), "job": job, **more}


@pytest.fixture
def scheduler() -> Scheduler:
    made = Scheduler("2026-01-01T01:59:00Z")
    made.client.create_job({"id": "tell", "schedule": None, "overlap": "allow", "target": HTTP})
    return made


def put(scheduler: Scheduler, on: Sequence[str] = ("at_risk",), **more: Any) -> None:
    """The workflow `nightly`, at 02:00 every day, whose steps end when the test ends their executions."""
    notify = [{"on": list(on), "to": {"job": "tell"}}] if on else []
    jobs = {name: step(after) for name, after in ETL.items()}
    scheduler.client.put_workflow("nightly", {"schedule": "0 2 * * *", "jobs": jobs, "notify": notify, **more})


def run_of(day: int) -> str:
    return f"202601{day:02d}T020000Z"


def to(scheduler: Scheduler, day: int, time: str) -> None:
    scheduler.advance_to(f"2026-01-{day:02d}T{time}Z")


def end(scheduler: Scheduler, day: int, name: str) -> None:
    scheduler.end(f"nightly--{name}.{run_of(day)}")
    scheduler.advance(seconds=1)


def night(scheduler: Scheduler, day: int, minutes: int = 20) -> None:
    """A run whose steps take so many minutes each."""
    to(scheduler, day, "02:00:01")
    for name in ETL:
        scheduler.advance(minutes=minutes)
        end(scheduler, day, name)


def nights(scheduler: Scheduler, count: int = DAYS, minutes: int = 20) -> None:
    for day in range(1, count + 1):
        night(scheduler, day, minutes)


def told(scheduler: Scheduler) -> list[Any]:
    """The notices of runs at risk that were delivered."""
    found = [call.payload for call in scheduler.calls if call.job_id == "tell"]
    return [each for each in found if each["cause"] in ("at_risk", "digest")]


def test_forecast_of_a_run_whose_critical_path_is_too_long_is_told_at_its_start(scheduler: Scheduler) -> None:
    put(scheduler, finish_by="04:00")
    nights(scheduler)
    assert told(scheduler) == []
    put(scheduler, finish_by="02:50")
    to(scheduler, 5, "02:00:30")
    (notice,) = told(scheduler)
    assert (notice["job_id"], notice["run_id"]) == ("nightly", f"nightly.{run_of(5)}")
    assert (notice["deadline"], notice["deadline_at"]) == ("finish_by", "2026-01-05T02:50:00Z")
    assert notice["predicted_end"].startswith("2026-01-05T03:00:")
    assert [(each["id"], each["samples"]) for each in notice["critical_path"]] == [(name, 4) for name in ETL]
    assert all(1190 <= each["p90_seconds"] <= 1260 for each in notice["critical_path"])
    assert notice["is_lower_bound"] is False
    assert "extract (p90 20 min of 4 runs), transform" in notice["text"]
    to(scheduler, 6, "01:00:00")
    assert len(told(scheduler)) == 1


def test_forecast_that_was_fine_at_the_start_is_told_when_a_step_takes_longer(scheduler: Scheduler) -> None:
    put(scheduler, finish_by="04:00")
    nights(scheduler)
    to(scheduler, 5, "03:19:00")
    assert told(scheduler) == []
    to(scheduler, 5, "03:21:00")
    (notice,) = told(scheduler)
    assert notice["forecast_at"].startswith("2026-01-05T03:19:")  # each step takes a second more than 20 minutes
    assert notice["is_lower_bound"] is True
    assert notice["critical_path"][0]["id"] == "extract"
    assert "steps that take longer than their p90: 1" in notice["reason"]


def test_forecast_is_repeated_after_a_step_has_ended_late_but_in_time(scheduler: Scheduler) -> None:
    put(scheduler, finish_by="04:00")
    nights(scheduler)
    to(scheduler, 5, "03:15:00")
    end(scheduler, 5, "extract")
    to(scheduler, 5, "03:39:00")
    assert told(scheduler) == []
    to(scheduler, 5, "03:41:00")
    (notice,) = told(scheduler)
    assert [each["id"] for each in notice["critical_path"]] == ["transform", "load"]


def test_forecast_compares_with_the_deadline_of_the_workflow(scheduler: Scheduler) -> None:
    put(scheduler, deadline_seconds=7200)
    nights(scheduler)
    put(scheduler, deadline_seconds=1800)
    to(scheduler, 5, "02:00:30")
    assert [(each["deadline"], each["deadline_at"][:16]) for each in told(scheduler)] == [
        ("deadline_seconds", "2026-01-05T02:30")
    ]


def test_forecast_without_earlier_runs_is_a_lower_bound_and_no_guess(scheduler: Scheduler) -> None:
    put(scheduler, finish_by="02:30")
    nights(scheduler, 2)
    assert told(scheduler) == []


def test_forecast_of_a_job_that_does_not_request_it_sends_no_message(scheduler: Scheduler) -> None:
    put(scheduler, on=["dead", "deadline"], finish_by="02:30")
    nights(scheduler)
    assert told(scheduler) == []
    assert kinds(scheduler).count(MessageKind.FORECAST) == 0


def kinds(scheduler: Scheduler) -> list[MessageKind]:
    """The kinds of the messages that were sent."""
    return [each.message.kind for each in scheduler._stage.wheel.sent]


def test_forecast_of_a_redriven_run_counts_ended_steps(scheduler: Scheduler) -> None:
    put(scheduler, deadline_seconds=7200)
    nights(scheduler)
    to(scheduler, 5, "02:20:00")
    end(scheduler, 5, "extract")
    scheduler.end(f"nightly--transform.{run_of(5)}", error="full")
    scheduler.advance(hours=1)
    assert scheduler.client.get_run(f"nightly.{run_of(5)}").state == "DEAD"
    put(scheduler, deadline_seconds=1800)
    scheduler.client.redrive_run(f"nightly.{run_of(5)}")
    scheduler.advance(seconds=30)
    (notice,) = told(scheduler)
    assert [each["id"] for each in notice["critical_path"]] == ["transform", "load"]


def test_forecast_of_a_rerun_counts_the_steps_that_it_repeats(scheduler: Scheduler) -> None:
    put(scheduler, deadline_seconds=7200)
    nights(scheduler)
    put(scheduler, deadline_seconds=900)
    rerun = scheduler.client.rerun(f"nightly.{run_of(4)}", ["load"])
    scheduler.advance(seconds=30)
    (notice,) = told(scheduler)
    assert (notice["run_id"], [each["id"] for each in notice["critical_path"]]) == (rerun.id, ["load"])


def test_forecast_of_a_job_without_steps_is_a_path_of_one_step(scheduler: Scheduler) -> None:
    notify = [{"on": ["at_risk"], "to": {"job": "tell"}}]
    job = {"id": "import", "schedule": "0 2 * * *", "finish_by": "02:30", "notify": notify, **step()["job"]}
    scheduler.client.create_job(job)
    for day in range(1, 5):
        to(scheduler, day, "02:20:00")
        scheduler.end(f"import.{run_of(day)}")
    assert told(scheduler) == []
    scheduler.client.patch_job("import", {"finish_by": "02:10"})
    to(scheduler, 5, "02:01:00")
    (notice,) = told(scheduler)
    assert notice["critical_path"] == [{"id": "import", "job_id": "import", "p90_seconds": 1200.0, "samples": 4}]


def test_forecast_of_a_job_without_a_deadline_for_its_end_is_refused(scheduler: Scheduler) -> None:
    """Its runs would never be forecast."""
    job = {"id": "import", "schedule": "0 2 * * *", "target": HTTP}
    rule = {"on": ["at_risk"], "to": {"job": "tell"}}
    with pytest.raises(ApiError) as refused:
        scheduler.client.create_job(job | {"notify": [rule], "start_within_seconds": 60})
    assert [(each.where, each.detail) for each in refused.value.faults] == [
        (
            "notify",
            "contains at_risk, but the job has no deadline for its end; set finish_by, or remove at_risk",
        )
    ]
    scheduler.client.create_job(job | {"notify": [rule], "finish_by": 60})
    with pytest.raises(ApiError):
        scheduler.client.patch_job("import", {"finish_by": None})
    scheduler.client.patch_job("import", {"finish_by": None, "notify": []})


@pytest.mark.parametrize(
    ("attribute", "method", "fault"),
    [
        ("inputs", "put", failing(OSError("throttled"), times=1)),
        ("inputs", "put", lost(OSError("no response"), times=1)),
        ("run_store", "page", failing(OSError("throttled"), times=1)),
        ("run_store", "get_many", failing(OSError("throttled"), times=1)),
        (
            "wheel",
            "send",
            Fault(lambda call: (call(), _refused())[0], 1, lambda sent, **_: of_kind(sent, "start", "tell")),
        ),
    ],
    ids=["put fails", "put is lost", "history fails", "records fail", "worker dies after the notice"],
)
def test_forecast_notice_is_delivered_once_whatever_fails(
    scheduler: Scheduler, attribute: str, method: str, fault: Any
) -> None:
    put(scheduler, finish_by="04:00")
    nights(scheduler)
    put(scheduler, finish_by="02:50")
    to(scheduler, 5, "01:59:50")
    stage = scheduler._stage
    real, stage.note = stage.note, lambda report: None  # type: ignore[method-assign]
    with stage.faulty(attribute, **{method: fault}):
        to(scheduler, 5, "02:15:00")
    stage.note = real  # type: ignore[method-assign]
    assert fault.hits == 1
    assert len(told(scheduler)) == 1


def _refused() -> None:
    raise OSError("the connection was lost")


def of_kind(sent: Sequence[Outgoing], kind: str, job_id: str) -> bool:
    return any(each.message.kind == kind and each.message.job_id == job_id for each in sent)


def test_forecast_messages_that_arrive_twice_or_late_deliver_one_notice(scheduler: Scheduler) -> None:
    put(scheduler, finish_by="04:00")
    nights(scheduler)
    put(scheduler, finish_by="02:50")
    to(scheduler, 5, "02:00:30")
    wheel = scheduler._stage.wheel
    (request,) = [
        each.message for each in wheel.sent if each.message.kind == "forecast" and "0105" in each.message.run_id
    ]
    for _ in range(3):
        wheel.send([Outgoing(request, 0), Outgoing(request, 300)])
        scheduler.advance(minutes=6)
    assert len(told(scheduler)) == 1
    for name in ETL:
        end(scheduler, 5, name)
    to(scheduler, 5, "05:00:00")
    wheel.send([Outgoing(request, 0)])
    scheduler.advance(seconds=5)
    assert len(told(scheduler)) == 1


def test_forecast_request_that_its_lane_refuses_delays_the_start(scheduler: Scheduler) -> None:
    """No run starts without the message of its forecast."""
    put(scheduler, finish_by="04:00")
    nights(scheduler)
    put(scheduler, finish_by="02:50")
    to(scheduler, 5, "01:59:50")
    stage = scheduler._stage
    real, stage.note = stage.note, lambda report: None  # type: ignore[method-assign]
    stage.wheel.refuse = lambda message: message.kind is MessageKind.FORECAST
    to(scheduler, 5, "02:00:02")
    stage.wheel.refuse = lambda _: False
    scheduler.advance(minutes=2)
    stage.note = real  # type: ignore[method-assign]
    assert len(told(scheduler)) == 1


def test_forecast_of_a_run_whose_job_was_deleted_is_not_told(scheduler: Scheduler) -> None:
    put(scheduler, finish_by="04:00")
    nights(scheduler)
    put(scheduler, finish_by="02:50")
    to(scheduler, 5, "02:00:02")
    scheduler.client.delete_job("nightly")
    scheduler.advance(minutes=30)
    assert told(scheduler) == []


def test_forecast_reads_and_messages_are_few_while_all_is_well(scheduler: Scheduler) -> None:
    put(scheduler, finish_by="04:00")
    nights(scheduler)
    before = kinds(scheduler).count(MessageKind.FORECAST)
    night(scheduler, 5)
    to(scheduler, 6, "01:00:00")
    assert kinds(scheduler).count(MessageKind.FORECAST) - before <= 3


def test_forecast_of_a_step_with_items_is_that_of_the_whole_step(scheduler: Scheduler) -> None:
    """The durations are those of the step, not of its items."""
    notify = [{"on": ["at_risk"], "to": {"job": "tell"}}]
    items = step(for_each="{{workflow.payload.files}}")
    body = {"schedule": "0 2 * * *", "jobs": {"load": items}, "payload": {"files": [1, 2]}, "notify": notify}
    scheduler.client.put_workflow("nightly", {**body, "finish_by": "04:00"})
    for day in range(1, 5):
        to(scheduler, day, "02:10:00")
        for index in range(2):
            scheduler.advance(minutes=5)
            scheduler.end(f"nightly--load.{run_of(day)}.i{index}")
    scheduler.client.put_workflow("nightly", {**body, "finish_by": "02:15"})
    to(scheduler, 5, "02:00:30")
    (notice,) = told(scheduler)
    (load,) = notice["critical_path"]
    assert (load["id"], load["samples"], round(load["p90_seconds"] / 60)) == ("load", 4, 20)


class Mortal(World):
    """A world whose queue delivers the message of a dead worker again."""

    def handle(self, held: Held) -> None:
        try:
            super().handle(held)
        except Killed:
            self.wheel.put_back(held)


def callback_runs(world: World, seconds: Sequence[int]) -> None:
    """Let runs begin at these seconds after NOON, and complete each after ten minutes."""
    for second in seconds:
        world.until(NOON + second + 600)
        run = world.run_store.get("default", "tick-tock", to_basic(int(NOON) + second))
        assert run is not None
        world.tell(world.about(run, MessageKind.COMPLETE))


WRITES: list[tuple[str, str, Callable[..., bool]]] = [
    ("wheel", "send", lambda sent, *_: any(each.message.kind is MessageKind.FORECAST for each in sent)),
    ("run_store", "write", lambda run, *_: run.job_id == "tick-tock" and run.state is RunState.RUNNING),
    ("run_store", "write", lambda run, *_: run.job_id == "tick-tock" and run.state is RunState.WAITING),
    ("run_store", "page", lambda *_, **__: True),
    ("inputs", "put", lambda *_, **__: True),
    ("wheel", "send", lambda sent, *_: any(each.message.job_id == "tell" for each in sent)),
]


@pytest.mark.parametrize("fault", [failing, lost])
@pytest.mark.parametrize(
    ("store", "write", "when"), WRITES, ids=["request", "start", "end of call", "history", "notice", "its message"]
)
def test_forecast_notice_is_delivered_once_if_a_worker_dies_at_any_write(
    tables: Tables, store: str, write: str, when: Callable[..., bool], fault: Callable[..., Fault]
) -> None:
    world = Mortal(tables)
    rule = NotifyRule((NoticeCause.AT_RISK,), NotifyTarget("tell"))
    world.add(job("", id="tell", overlap=Overlap.ALLOW))
    fields: dict[str, Any] = {"completion": Completion.CALLBACK, "overlap": Overlap.ALLOW, "finish_by": 400}
    world.add(job("1,16,31,51 12 * * *", notify=(rule,), **fields))
    callback_runs(world, (60, 960, 1860))
    world.until(NOON + 2700)
    assert [run for run in world.caller.runs if run.startswith("tell")] == []
    death = fault(Killed(), times=1, when=when)
    with world.faulty(store, **{write: death}):
        world.until(NOON + 4200)
    assert death.hits == 1
    assert len({run for run in world.caller.runs if run.startswith("tell")}) == 1
