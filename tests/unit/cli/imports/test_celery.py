"""What becomes of a beat_schedule."""

import json
from typing import Any

import pytest

from duecourse.cli.imports.celery import read_beat
from duecourse.cli.imports.entry import Entry, Names, NotReadableError, Runner

NOW = 1_795_000_000.0
WORKED_ON = Runner(queue="duecourse-target-celery")


def entries(text: str, runner: Runner = WORKED_ON, zone: str | None = None) -> list[Entry]:
    return read_beat(text, file="app.py", runner=runner, names=Names(), zone=zone, app="shop", now=NOW)


def entry(schedule: str, more: str = "") -> Entry:
    (found,) = entries(f"app.conf.beat_schedule = {{'x': {{'task': 't.x', 'schedule': {schedule}, {more}}}}}")
    return found


APP = """\
from celery import Celery
from celery.schedules import crontab

app = Celery("shop")
app.conf.timezone = "Europe/Berlin"
raise SystemExit("this file is read, not run")
app.conf.beat_schedule = {
    "add every 30 s": {"task": "tasks.add", "schedule": 30.0, "args": (16, 16)},
    "monday": {
        "task": "tasks.report",
        "schedule": crontab(hour=7, minute=30, day_of_week=1),
        "kwargs": {"to": "it's me"},
        "options": {"queue": "slow", "expires": 15, "priority": 3},
    },
}
"""


def test_import_celery_reads_a_python_file_without_running_it() -> None:
    add, monday = entries(APP)
    assert add.job is not None
    assert monday.job is not None
    assert (add.place, add.job["id"], add.job["schedule"]) == ("app.py:8", "add-every-30-s", "rate(30 seconds)")
    assert add.job["payload"] == {"command": "celery -A shop call tasks.add '--args=[16, 16]'"}
    assert (monday.job["schedule"], monday.job["timezone"]) == ("30 7 * * 1", "Europe/Berlin")
    assert monday.job["start_deadline_seconds"] == 15
    assert monday.notes == (
        "options.queue slow is a queue of Celery; the called target must send the task to it",
        "options.priority is not carried over",
    )


def test_import_celery_sends_the_task_in_the_payload_to_a_url() -> None:
    _, monday = entries(APP, Runner(url="https://example.com/tasks"), zone="UTC")
    assert monday.job is not None
    assert monday.job["payload"] == {"task": "tasks.report", "args": [], "kwargs": {"to": "it's me"}}
    assert monday.job["timezone"] == "UTC"


@pytest.mark.parametrize(
    ("schedule", "means"),
    [
        ("crontab()", "* * * * *"),
        ("crontab(minute='*/15', hour='8-18', day_of_week='mon-fri')", "*/15 8-18 * * mon-fri"),
        ("crontab(minute=[0, 30])", "0,30 * * * *"),
        ("crontab('0', '4')", "0 4 * * *"),
        ("crontab(0, 0, day_of_month='1', month_of_year='*/3')", "0 0 1 */3 *"),
        ("timedelta(minutes=5)", "rate(5 minutes)"),
        ("datetime.timedelta(1, hours=12)", "rate(36 hours)"),
        ("schedule(run_every=timedelta(seconds=1))", "rate(1 second)"),
        ("60 * 60 * 24", "rate(1 day)"),
    ],
)
def test_import_celery_converts_schedules(schedule: str, means: str) -> None:
    found = entry(schedule)
    assert found.job is not None, found.notes
    assert found.job["schedule"] == means


@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        ("solar('sunset', -37.8, 144.9)", "solar"),
        ("crontab(day_of_month=1, day_of_week=1)", "match both"),
        ("0.5", "whole seconds"),
        ("EVERY", "schedule is computed"),
        ("MySchedule()", "a custom class"),
        ("crontab(minute=99)", "schedule "),
        ("None", "has no schedule"),
    ],
)
def test_import_celery_gives_the_reason_for_schedules_it_cannot_convert(schedule: str, why: str) -> None:
    found = entry(schedule)
    assert found.job is None
    assert why in found.notes[0]


def test_import_celery_reads_json_files() -> None:
    beat: dict[str, Any] = {
        "a": {"task": "t.a", "schedule": {"hour": 3, "minute": 0}},
        "b": {"task": "t.b", "schedule": 60},
    }
    for text in (json.dumps(beat), json.dumps({"timezone": "Asia/Tokyo", "beat_schedule": beat})):
        found = entries(text)
        assert [each.job and each.job["schedule"] for each in found] == ["0 3 * * *", "rate(1 minute)"]
    assert found[0].job is not None
    assert found[0].job["timezone"] == "Asia/Tokyo"


@pytest.mark.parametrize("text", ["x = 1", "def", "{nonsense", '{"beat_schedule": []}', "beat_schedule = dict(a=1)"])
def test_import_celery_names_a_file_without_a_schedule(text: str) -> None:
    with pytest.raises(NotReadableError, match=r"app\.py"):
        entries(text)
