"""What becomes of systemd timers and their services."""

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from duecourse.cli.imports.entry import Entry, Names, NotReadableError, Runner, commands_of
from duecourse.cli.imports.systemd import read_timers
from duecourse.cli.imports.systemd_times import NotCalendarError, cron_of, seconds_of
from duecourse.cli.main import main
from duecourse_schedules import ScheduleSpec, compile_schedule
from tests.support.examples import examples

NOW = 1_795_000_000.0


def unit(name: str, *lines: str, folder: str = "/etc/systemd/system") -> str:
    return "\n".join((f"# {folder}/{name}", *lines, ""))


def timer(*lines: str, calendar: str = "daily") -> str:
    return unit("backup.timer", "[Timer]", *([f"OnCalendar={calendar}"] if calendar else []), *lines)


def service(*lines: str, start: str = "/usr/bin/backup --full") -> str:
    return unit("backup.service", "[Service]", "Type=oneshot", *([f"ExecStart={start}"] if start else []), *lines)


def entries(*units: str, zone: str = "UTC") -> list[Entry]:
    text = "\n".join(units)
    return read_timers(text, file="units", runner=Runner(queue="q"), names=Names(), zone=zone, now=NOW)


def job(*units: str, zone: str = "UTC") -> dict[str, Any]:
    (entry,) = entries(*units, zone=zone)
    assert entry.job is not None, entry.notes
    return entry.job


def test_import_systemd_timer_becomes_a_job_with_the_command_of_its_service() -> None:
    described = unit("backup.timer", "[Unit]", "Description=Nightly backup", "[Timer]", "OnCalendar=*-*-* 02:30")
    (entry,) = entries(described, service(), zone="Europe/Berlin")
    assert entry.job == {
        "id": "backup",
        "name": "Nightly backup",
        "schedule": "30 2 * * *",
        "timezone": "Europe/Berlin",
        "dst_gap": "skip",
        "target": {"type": "sqs", "queue": "q"},
        "payload": {"command": "cd / || exit; /usr/bin/backup --full"},
        "completion": "callback",
        "heartbeat_seconds": 3600,
        "overlap": "skip",
        "retry": {"max_attempts": 1},
        "missed": {"policy": "skip"},
    }
    assert entry.notes == ("ran as root; start its worker as a user with the necessary permissions",)


@pytest.mark.parametrize(
    ("event", "schedule"),
    [
        ("minutely", "* * * * *"),
        ("hourly", "0 * * * *"),
        ("Daily", "0 0 * * *"),
        ("weekly", "0 0 * * MON"),
        ("monthly", "0 0 1 * *"),
        ("quarterly", "0 0 1 1-10/3 *"),
        ("semiannually", "0 0 1 1,7 *"),
        ("yearly", "0 0 1 1 *"),
        ("Mon..Fri 9:00", "0 9 * * MON-FRI"),
        ("Sat,Sun,Tue *-*-* 9:00:30", "30 0 9 * * TUE,SAT,SUN"),
        ("*:0/15", "0-45/15 * * * *"),
        ("*-*-1..7 02:00", "0 2 1-7 * *"),
        ("Mon *-*-1..7 02:00", "0 2 1-7 * +MON"),
        ("*-*~01", "0 0 L * *"),
        ("Mon *-05~07/1", "0 0 L-6,L-5,L-4,L-3,L-2,L-1,L 5 +MON"),
        ("2027-12-24 18:00", "0 0 18 24 12 * 2027"),
        ("2027..2031/2-1-1", "0 0 0 1 1 * 2027-2031/2"),
        ("12-25", "0 0 25 12 *"),
        ("@1800000000", "2027-01-15T08:00:00Z"),
        ("*-*-* 02:30:00.0", "30 2 * * *"),
    ],
)
def test_import_systemd_calendar_event_becomes_cron(event: str, schedule: str) -> None:
    assert job(timer(calendar=event), service())["schedule"] == schedule


@pytest.mark.parametrize(
    ("event", "after", "times"),
    [
        # What `systemd-analyze calendar` (systemd 252) shows.
        ("hourly", "2026-10-24T23:30", ["00:00", "02:00", "03:00"]),
        ("*:0/30", "2026-10-25T00:00", ["00:30", "02:00", "02:30"]),
        ("*-*-* 02:30", "2026-10-24T22:00", ["00:30", "01:30", "01:30"]),
        ("*-*-* 0/2:30", "2027-03-27T23:45", ["02:30", "04:30", "06:30"]),
        ("hourly", "2027-03-28T00:30", ["01:00", "02:00", "03:00"]),
    ],
)
def test_import_systemd_runs_a_timer_as_on_the_machine_when_the_clock_changes(
    event: str, after: str, times: list[str]
) -> None:
    found = job(timer(calendar=f"{event} Europe/Berlin"), service())
    spec = ScheduleSpec(found["schedule"], found["timezone"], found["dst_gap"])
    upcoming = compile_schedule(spec).upcoming(int(datetime.fromisoformat(after).replace(tzinfo=UTC).timestamp()))
    assert [f"{datetime.fromtimestamp(at, UTC):%H:%M}" for at, _ in zip(upcoming, times, strict=False)] == times


@pytest.mark.parametrize(
    "event", ["Fri..Mon", "12", "25:00", "*-*-31/1", "1:2:3.5", "*-*~07..01", "*-*-0", "*-13-1", "Mon 2026", "now"]
)
def test_import_systemd_lists_a_calendar_event_that_it_cannot_represent(event: str) -> None:
    with pytest.raises(NotCalendarError):
        cron_of(event, "UTC")
    (entry,) = entries(timer(f"OnCalendar={event}", calendar="hourly"), service())
    assert entry.job is None


@pytest.mark.parametrize(
    ("lines", "fields"),
    [
        (["Persistent=true"], {"missed": {"policy": "run_once"}}),
        (["RandomizedDelaySec=30m"], {"jitter_seconds": 1_800}),
        (["RandomizedDelaySec=1h", "RandomizedDelaySec=90"], {"jitter_seconds": 90}),
        (["OnCalendar=weekly"], {"schedule": ["0 0 * * *", "0 0 * * MON"]}),
        (["OnCalendar=", "OnCalendar=weekly"], {"schedule": "0 0 * * MON"}),
        (["OnCalendar=hourly \\", "# comment", "  UTC"], {"schedule": ["0 0 * * *", "0 * * * *"]}),
        (["# a comment \\", "Persistent=yes"], {"missed": {"policy": "run_once"}}),
    ],
)
def test_import_systemd_converts_the_settings_of_a_timer(lines: list[str], fields: dict[str, Any]) -> None:
    found = job(timer(*lines), service())
    assert {name: found.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    ("units", "why"),
    [
        ((timer(), ""), "starts backup.service, which is not in the input"),
        ((timer("Unit=other.service"), service()), "starts other.service"),
        ((timer("RandomizedDelaySec=2h"), service()), "RandomizedDelaySec=2h"),
        ((timer("RandomizedDelaySec=soon"), service()), "RandomizedDelaySec=soon"),
        ((timer("RandomizedOffsetSec=1h"), service()), "RandomizedOffsetSec"),
        ((timer("OnCalendar=hourly Europe/Berlin"), service()), "several time zones"),
        ((timer(calendar="daily Mars/Olympus"), service()), "timezone "),
        ((timer(calendar="2020-01-01"), service()), "no occurrence in the future"),
        ((timer(calendar="*-02-30"), service()), "schedule "),
        ((timer("[Unit]", "ConditionACPower=true"), service()), "backup.timer has ConditionACPower"),
        ((timer(), service("[Unit]", "AssertPathExists=/srv")), "backup.service has AssertPathExists"),
        ((timer(), service("EnvironmentFile=/etc/x")), "has EnvironmentFile"),
        ((timer(), service("ExecStopPost=/bin/x")), "has ExecStopPost"),
        ((timer(), service("ExecCondition=/bin/x")), "has ExecCondition"),
        ((timer(), service("RemainAfterExit=yes")), "has RemainAfterExit"),
        ((timer(), service("Type=notify")), "has Type=notify"),
        ((timer(), service("Type=simple", "ExecStart=/bin/x")), "has 2 ExecStart"),
        ((timer(), service(start="")), "has 0 ExecStart"),
        ((timer(), service(start="/bin/x %i")), "has the specifier %i"),
        ((timer(), service("WorkingDirectory=%h")), "has the specifier %h"),
        ((timer(), service("Environment=X=%n")), "has the specifier %n"),
        ((timer(), service("Environment=nothing")), "is not an assignment"),
        ((timer(), service(start="+/bin/x")), "has the prefix +"),
        ((timer(), service(start="@/bin/x y")), "has the prefix @"),
        ((timer(), service(start="/bin/x 'a")), "not closed"),
        ((timer(), service(start="/bin/x \\q")), "escape sequence"),
        ((unit("a@b.timer", "[Timer]", "OnCalendar=daily"), unit("a@b.service")), "is a template"),
    ],
)
def test_import_systemd_gives_the_reason_for_timers_it_cannot_convert(units: tuple[str, ...], why: str) -> None:
    (entry,) = entries(*units)
    assert entry.job is None
    assert why in entry.notes[0]


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("OnUnitActiveSec=15min", "rate(900 seconds)"),
        ("OnUnitActiveSec=1month", "rate(…)"),
        ("OnUnitInactiveSec=1h", "an event on the machine"),
        ("OnBootSec=5min", "an event on the machine"),
        ("OnActiveSec=0", "an event on the machine"),
        ("OnClockChange=true", "an event on the machine"),
    ],
)
def test_import_systemd_lists_every_time_that_refers_to_the_machine(setting: str, why: str) -> None:
    (entry,) = entries(timer(setting, calendar=""), service())
    assert (entry.job, why in entry.notes[0]) == (None, True)
    listed, made = entries(timer(setting), service())
    assert (listed.job, why in listed.notes[0]) == (None, True)
    assert made.job is not None


def test_import_systemd_notes_settings_without_effect() -> None:
    (entry,) = entries(
        timer("AccuracySec=1h", "WakeSystem=true", "[Unit]", "Wants=network-online.target"),
        service("User=ann", "Nice=10", "Restart=on-failure", "[Unit]", "OnFailure=mail@%n.service"),
    )
    assert entry.job is not None
    said = "\n".join(entry.notes)
    assert "AccuracySec=1h" in said
    assert "ran as ann" in said
    assert "these settings are ignored: Nice, OnFailure, Restart, WakeSystem, Wants" in said


def test_import_systemd_last_drop_in_wins() -> None:
    override = "# /etc/systemd/system/backup.service.d/a b.conf\n[Service]\nExecStart=\nExecStart=/b"
    assert job(timer(), service(), override)["payload"]["command"] == "cd / || exit; /b"


@pytest.mark.parametrize(
    ("start", "printed"),
    [
        (r"/usr/bin/printf '[%%s]' a 'b  c' \x64\se", "[a][b  c][d e]"),
        ("/usr/bin/printf [%%s] $WORDS ${WORDS} a$WORDS ${WORDS}b $$X", "[a][*][a *][a$WORDS][a *b][$X]"),
        (":/usr/bin/printf [%%s] $WORDS ${WORDS}", "[$WORDS][${WORDS}]"),
        ("/usr/bin/printf [%%s] * ~ `id` $(id) a|b \\; &", "[*][~][`id`][$(id)][a|b][;][&]"),
        ("-/bin/false ; /usr/bin/printf x", "x"),
        ("/bin/true ; /usr/bin/printf [%%s] ${NONE} $NONE '' \"{{.ID}}\"", "[][][{{.ID}}]"),
    ],
)
def test_import_systemd_command_has_the_arguments_of_its_service(start: str, printed: str) -> None:
    found = entries(timer(), service('Environment="WORDS=a *" Y=b', start=start))
    (command,) = commands_of(found)
    ended = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True, cwd="/tmp")
    assert ended.stdout == printed


@pytest.mark.parametrize(
    ("lines", "ends", "printed"),
    [
        (["ExecStartPre=/bin/false"], 1, ""),
        (["ExecStartPre=-/bin/false"], 0, "/\n"),
        (["ExecStart=/bin/false"], 1, "/\n"),
        (["WorkingDirectory=/nowhere"], 2, ""),
        (["WorkingDirectory=-/nowhere"], 0, "/tmp\n"),
        (["WorkingDirectory=/usr"], 0, "/usr\n"),
        (["WorkingDirectory=~"], 0, f"{Path.home()}\n"),
        (["UMask=0077", "ExecStart=/bin/sh -c umask"], 0, "/\n0077\n"),
    ],
)
def test_import_systemd_command_runs_as_the_service(lines: list[str], ends: int, printed: str) -> None:
    (command,) = commands_of(entries(timer(), service(*lines, start="/bin/sh -c pwd")))
    environment = {"HOME": str(Path.home()), "PATH": os.environ["PATH"]}
    ended = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, check=False, cwd="/tmp", env=environment
    )
    assert (bool(ended.returncode), ended.stdout) == (bool(ends), printed)


def test_import_systemd_reads_a_timer_with_the_service_beside_it_and_folders(tmp_path: Path) -> None:
    folder = tmp_path / "my units"
    folder.mkdir()
    for name in ("backup", "report"):
        (folder / f"{name}.timer").write_text(f"[Timer]\nOnCalendar=daily\nUnit=do-{name}.service\n")
        (folder / f"do-{name}.service").write_text("[Service]\nExecStart=/bin/x\n")
    (folder / "backup.timer.d").mkdir()
    (folder / "backup.timer.d" / "a.conf").write_text("[Timer]\nPersistent=yes")
    for source, made in ((folder / "backup.timer", ["backup"]), (folder, ["backup", "report"])):
        options = ["--queue", "q", "--timezone", "UTC", "--json"]
        result = CliRunner().invoke(main, ["import", "systemd", str(source), *options])
        assert result.exit_code == 0, result.output
        found = [each["job"] for each in json.loads(result.stdout)["items"]]
        assert [each["id"] for each in found] == made
        assert found[0]["missed"] == {"policy": "run_once"}


def test_import_systemd_timer_that_is_not_imported_has_its_own_exit_code(tmp_path: Path) -> None:
    (tmp_path / "a.timer").write_text("[Timer]\nOnBootSec=5min\n")
    result = CliRunner().invoke(main, ["import", "systemd", str(tmp_path / "a.timer"), "--queue", "q"])
    assert (result.exit_code, "0 jobs, 1 not imported" in result.stderr) == (3, True)
    (tmp_path / "a.txt").write_text("@daily x\n")
    result = CliRunner().invoke(main, ["import", "systemd", str(tmp_path / "a.txt"), "--queue", "q"])
    assert (result.exit_code, "is not a line of a unit file" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    ("span", "seconds"),
    [
        ("90", 90),
        ("1h 30min", 5_400),
        ("2.5m", 150),
        ("500ms", 0.5),
        ("1d2h", 93_600),
        ("1M", None),
        ("", None),
        ("x", None),
    ],
)
def test_import_systemd_time_span_is_a_number_of_seconds(span: str, seconds: float | None) -> None:
    assert seconds_of(span) == seconds


@examples(400)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["OnCalendar", "ExecStart", "Environment", "RandomizedDelaySec", "OnUnitActiveSec", "Unit"]
            ),
            st.text("0129*.~/:,-@ MonTueUTCdaily%\\\"'${}X=;é", max_size=30),
        ),
        max_size=6,
    )
)
def test_import_systemd_has_a_result_for_every_text(settings: list[tuple[str, str]]) -> None:
    lines = [f"{name}={value}" for name, value in settings]
    try:
        found = entries(timer(*lines), service(*lines))
    except NotReadableError:
        return
    assert found
    assert all(each.job is not None or each.notes for each in found)


def test_import_systemd_explains_that_an_instance_of_a_template_cannot_be_added_to_the_input() -> None:
    (found,) = entries(timer("Unit=job@a.service"), unit("job@.service", "[Service]", "ExecStart=/bin/x %i"))
    assert found.job is None
    assert "template" in found.notes[0]
