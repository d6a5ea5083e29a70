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
    assert monday.job["timezone"] == "Europe/Berlin"


@pytest.mark.parametrize(
    ("schedule", "means"),
    [
        ("crontab()", "* * * * *"),
        ("crontab(minute='*/15', hour='8-18', day_of_week='mon-fri')", "*/15 8-18 * * 1-5"),
        ("crontab(minute=[0, 30])", "0,30 * * * *"),
        ("crontab('0', '4')", "0 4 * * *"),
        ("crontab(0, 0, day_of_month='1', month_of_year='*/3')", "0 0 1 */3 *"),
        ("timedelta(minutes=5)", "rate(5 minutes)"),
        ("datetime.timedelta(1, hours=12)", "rate(36 hours)"),
        ("schedule(run_every=timedelta(seconds=1))", "rate(1 second)"),
        ("60 * 60 * 24", "rate(1 day)"),
        ("crontab(0, 9, day_of_week='monday')", "0 9 * * 1"),
        ("crontab(0, 9, day_of_week='sunday,friday')", "0 9 * * 0,5"),
        ("crontab(0, 9, day_of_week='fri-sun')", "0 9 * * 0,5-6"),
        ("crontab(0, 9, day_of_week='Thursday-monday/2')", "0 9 * * 1,4,6"),
        ("crontab(0, hour='22-4')", "0 0-4,22-23 * * *"),
        ("crontab(0, hour='22-4/2')", "0 0,2,4,22 * * *"),
        ("crontab(0, 0, month_of_year='november-february', day_of_month='1')", "0 0 1 1-2,11-12 *"),
        ("crontab(0, 0, day_of_week={6, 0})", "0 0 * * 0,6"),
        ("crontab.from_string('0 4 * 1-6/2 mon')", "0 4 * 1,3,5 1"),
        ("celery.schedules.crontab.from_string('30 22-4 * * *')", "30 0-4,22-23 * * *"),
        ("dict(minute=0, hour=3)", "0 3 * * *"),
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
        ("crontab(minute=99)", "minute 99 is not a value"),
        ("None", "has no schedule"),
        ("crontab(day_of_week=7)", "day_of_week 7 is not a value that Celery accepts"),
        ("crontab(minute='5/10')", "minute 5/10 is not"),
        ("crontab(minute='')", "minute"),
        ("crontab(minute=['0', 30])", "minute"),
        ("crontab(hour=[])", "hour"),
        ("crontab(0, 9, nowfun=berlin)", "schedule is computed"),
        ("crontab(0, 9, app='shop')", "app"),
        ("crontab.from_string('0 9 * *')", "from_string"),
        ("schedule(60, relative=True)", "relative"),
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


@pytest.mark.parametrize("text", ["x = 1", "def", "{nonsense", '{"beat_schedule": []}', "def f(): x.beat_schedule"])
def test_import_celery_names_a_file_without_a_schedule(text: str) -> None:
    with pytest.raises(NotReadableError, match=r"app\.py"):
        entries(text)


def test_import_celery_accepts_an_annotated_schedule_and_calls_of_dict() -> None:
    (found,) = entries("beat_schedule: dict = dict(x=dict(task='t.x', schedule=60.0, options=dict(queue='q')))")
    assert found.job is not None, found.notes
    assert found.notes[0].startswith("options.queue q is a queue of Celery")


LITERAL = "app.conf.beat_schedule = {'x': {'task': 't.x', 'schedule': 60}}\n"


@pytest.mark.parametrize(
    "write",
    [
        "app.conf.beat_schedule['y'] = {'task': 't.y', 'schedule': 60}",
        "app.conf['beat_schedule']['y'] = {'task': 't.y', 'schedule': 60}",
        "app.conf.beat_schedule.update({'y': {'task': 't.y', 'schedule': 60}})",
        "app.conf.beat_schedule.update(y={'task': 't.y', 'schedule': 60})",
        "app.conf.beat_schedule.setdefault('y', {'task': 't.y', 'schedule': 60})",
        "app.conf.beat_schedule |= {'y': {'task': 't.y', 'schedule': 60}}",
        "app.conf.beat_schedule = app.conf.beat_schedule | {'y': {'task': 't.y', 'schedule': 60}}",
        "del app.conf.beat_schedule['x']",
        "app.conf.beat_schedule.pop('x')",
        "if DEBUG:\n    app.conf.beat_schedule = {'y': {'task': 't.y', 'schedule': 60}}",
        "class Production:\n    beat_schedule = {'y': {'task': 't.y', 'schedule': 60}}",
        "class Production:\n    CELERY_BEAT_SCHEDULE: dict = {'y': {'task': 't.y', 'schedule': 60}}",
        "@app.on_after_configure.connect\ndef setup(sender, **kwargs):\n    sender.add_periodic_task(10.0, t.s('x'))",
        "app.conf.update(beat_schedule={'y': {'task': 't.y', 'schedule': 60}})",
        "app.conf.update({'beat_schedule': {'y': {'task': 't.y', 'schedule': 60}}})",
        "setattr(app.conf, 'beat_schedule', {'y': {'task': 't.y', 'schedule': 60}})",
        "beat_schedule, other = make()",
        "for beat_schedule in (): pass",
        "(beat_schedule := make())",
        "CELERY = {'beat_schedule': {'y': {'task': 't.y', 'schedule': 60}}}",
        "from shop.settings import beat_schedule",
        "@periodic_task(run_every=crontab(hour=7))\ndef report(): pass",
        "CELERYBEAT_SCHEDULE['y'] = {'task': 't.y', 'schedule': 60}",
        "app.conf.beat_schedule = dict(BASE, y={})",
    ],
)
def test_import_celery_lists_every_other_write_to_the_schedule(write: str) -> None:
    found = entries(LITERAL + write + "\n")
    assert [each.job and each.job["id"] for each in found] == ["x", None]
    assert found[1].place.startswith("app.py:")
    assert int(found[1].place.partition(":")[2]) > 1
    assert not found[1].setting
    assert "only the beat_schedule at app.py:1 is" in found[1].notes[0]


def test_import_celery_lists_writes_of_a_file_without_a_literal() -> None:
    (found,) = entries("app.add_periodic_task(10.0, tasks.add.s(1), name='add')")
    assert found.job is None
    assert "write a literal" in found.notes[0]


def test_import_celery_lists_entries_of_an_unpacked_dictionary() -> None:
    found = entries("beat_schedule = {'x': {'task': 't.x', 'schedule': 60}, **OTHERS}")
    assert [each.job and each.job["id"] for each in found] == ["x", None]


@pytest.mark.parametrize(
    "zone",
    [
        'app.conf.update({"timezone": "Europe/Berlin"})',
        'app.conf.update(timezone="Europe/Berlin")',
        'timezone: str = "Europe/Berlin"',
        'app.conf["timezone"] = "Europe/Berlin"',
        'app.conf.timezone = ZoneInfo("Europe/Berlin")',
        'TIME_ZONE = "Europe/Berlin"\nCELERY_TIMEZONE = TIME_ZONE',
        'setattr(app.conf, "timezone", "Europe/Berlin")',
        'app = Celery("shop", timezone="Europe/Berlin")',
        'CELERY = {"timezone": "Europe/Berlin", "task_acks_late": True}',
        'app.conf.timezone = app.conf.zone = "Europe/Berlin"',
    ],
)
def test_import_celery_finds_the_time_zone(zone: str) -> None:
    (found,) = entries(f"{zone}\n{LITERAL}")
    assert found.job is not None
    assert found.job["timezone"] == "Europe/Berlin"


@pytest.mark.parametrize(
    "zone",
    [
        'timezone = os.environ["TZ"]',
        'app.conf.update({"timezone": os.environ["TZ"]})',
        "app.conf.timezone: str = local()",
        'timezone = "Europe/Berlin"\nclass Tokyo:\n    timezone = "Asia/Tokyo"',
        "app.conf.enable_utc = False",
        "from shop.settings import CELERY_TIMEZONE",
    ],
)
def test_import_celery_rejects_a_time_zone_that_it_does_not_know(zone: str) -> None:
    with pytest.raises(NotReadableError, match="--timezone"):
        entries(f"{zone}\n{LITERAL}")
    (found,) = entries(f"{zone}\n{LITERAL}", zone="UTC")
    assert found.job is not None


@pytest.mark.parametrize("other", ['app.config_from_object("shop.settings")', "app.conf.update(SETTINGS)"])
def test_import_celery_reports_settings_that_are_elsewhere(other: str) -> None:
    setting, found = sorted(entries(f"{other}\n{LITERAL}"), key=lambda each: not each.setting)
    assert found.job is not None
    assert setting.setting
    assert "--timezone" in setting.notes[0]


def test_import_celery_lists_every_option_and_field_that_is_not_carried_over() -> None:
    found = entry("60", "'options': {'countdown': 5, 'headers': {}, 'ignore_result': True}, 'relative': True")
    assert found.job is not None
    said = " ".join(found.notes)
    for word in ("options.countdown", "options.headers", "options.ignore_result", "relative"):
        assert f"{word} is not carried over" in said


@pytest.mark.parametrize(
    ("expires", "seconds"), [("2592000", 604_800), ("604801", 604_800), ("604800", 604_800), ("0.5", 1), ("15.5", 16)]
)
def test_import_celery_limits_expires_with_a_note(expires: str, seconds: int) -> None:
    found = entry("60", f"'options': {{'expires': {expires}}}")
    assert found.job is not None
    assert found.job["start_deadline_seconds"] == seconds
    assert any("start_deadline_seconds" in note for note in found.notes) == (float(expires) != seconds)


@pytest.mark.parametrize(
    "odd",
    [
        "'options': QUEUE",
        "'options': 5",
        "'kwargs': {'ids': {1, 2}}",
        "'args': 5",
        "'kwargs': [1]",
        "'args': (b'x',)",
        "'args': (float('inf'),)",
        "'args': (1e999,)",
        "'args': ('\\ud800',)",
        "'kwargs': {'at': datetime(2027, 1, 1)}",
        "'options': {'expires': 'tomorrow'}",
        "'schedule': timedelta(hours='x')",
        "'schedule': crontab(minute=object())",
        "'schedule': 1e999",
    ],
)
@pytest.mark.parametrize("runner", [WORKED_ON, Runner(url="https://example.com/tasks")])
def test_import_celery_odd_entry_does_not_end_the_import(odd: str, runner: Runner) -> None:
    text = (
        f"beat_schedule = {{'odd': {{'task': 't.x', 'schedule': 60, {odd}}}, 'x': {{'task': 't.x', 'schedule': 60}}}}"
    )
    found, good = entries(text, runner)
    assert good.job is not None
    assert found.job is not None or found.notes
    assert found.notes


def test_import_celery_does_not_import_an_entry_that_a_later_one_of_the_same_name_replaces() -> None:
    first, second = entries("beat_schedule = {'x': {'task': 'a', 'schedule': 60}, 'x': {'task': 'b', 'schedule': 60}}")
    assert first.job is None
    assert "replaced" in first.notes[0]
    assert second.job is not None
    assert second.job["id"] == "x"


def test_import_celery_does_not_import_a_disabled_entry() -> None:
    found = entry("60", "'enabled': False")
    assert found.job is None
    assert "disabled" in found.notes[0]


@pytest.mark.parametrize(
    "text",
    [
        "timezone = 'Asia/Tokyo'\nbeat_schedule = {'x': {'task': 'a', 'schedule': 60}}",
        '{"timezone": "Asia/Tokyo", "beat_schedule": {"x": {"task": "a", "schedule": 60}}}',
    ],
)
def test_import_celery_prefers_the_time_zone_of_the_file_to_the_option(text: str) -> None:
    (found,) = entries(text, zone="Europe/Berlin")
    assert found.job is not None
    assert found.job["timezone"] == "Asia/Tokyo"
