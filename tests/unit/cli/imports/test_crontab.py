"""What becomes of the lines of a crontab."""

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from duecourse.cli.imports.crontab import read_crontab
from duecourse.cli.imports.entry import Entry, Names, Runner
from duecourse.cli.main import main
from duecourse.cli.terminal import read_text

NOW = 1_795_000_000.0
WORKED_ON = Runner(queue="duecourse-target-cron")


def entries(text: str, *, system: bool = False, zone: str = "UTC", runner: Runner = WORKED_ON) -> list[Entry]:
    return read_crontab(text, file="crontab", runner=runner, names=Names(), zone=zone, system=system, now=NOW)


def command(line: str) -> str:
    """What a shell is given for a line."""
    (entry,) = entries(line)
    assert entry.job is not None, entry.notes
    found: str = entry.job["payload"]["command"]
    return found


def test_import_crontab_converts_an_entry_to_a_job_that_runs_as_under_cron() -> None:
    (entry,) = entries("# nightly\n\n30 2 * * *\t/usr/local/bin/backup.sh --full\n", zone="Europe/Berlin")
    assert entry.place == "crontab:3"
    assert entry.notes == ()
    assert entry.job == {
        "id": "backup",
        "name": "/usr/local/bin/backup.sh --full",
        "schedule": "30 2 * * *",
        "timezone": "Europe/Berlin",
        "target": {"type": "sqs", "queue": "duecourse-target-cron"},
        "payload": {"command": "/usr/local/bin/backup.sh --full"},
        "completion": "callback",
        "heartbeat_seconds": 3600,
        "overlap": "allow",
        "retry": {"max_attempts": 1},
        "missed": {"policy": "skip"},
    }


@pytest.mark.parametrize(
    ("line", "job_id"),
    [
        ('0 6 28-31 * * [ "$(date +\\%d -d tomorrow)" = 01 ] && /srv/close.sh', "close"),
        ("0 6 * * * cd /srv && ./run.sh", "run"),
    ],
)
def test_import_crontab_id_is_the_program_behind_a_test(line: str, job_id: str) -> None:
    (entry,) = entries(line)
    assert entry.job is not None
    assert entry.job["id"] == job_id


@pytest.mark.parametrize(
    ("comment", "name"),
    [
        ("# Close the month", "Close the month"),
        ("#Close the month\n#\n", "/srv/close.sh"),
        ("# m h  dom mon dow   command", "/srv/close.sh"),
        ("#0 5 * * * /srv/old.sh", "/srv/close.sh"),
        ("# Close the month\n0 5 * * * x", "/srv/close.sh"),
    ],
)
def test_import_crontab_name_is_the_comment_above_the_line(comment: str, name: str) -> None:
    *_, entry = entries(f"{comment}\n0 6 * * * /srv/close.sh\n")
    assert entry.job is not None
    assert entry.job["name"] == name


def test_import_crontab_calls_a_url_instead_of_a_queue() -> None:
    (entry,) = entries("@daily backup", runner=Runner(url="https://example.com/{id}"))
    assert entry.job is not None
    assert entry.job["target"] == {"type": "http", "url": "https://example.com/backup"}
    assert "completion" not in entry.job


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("@reboot /usr/bin/daemon", "init system"),
        ("MAILTO=ops@example.com", "not mailed"),
        ("RANDOM_DELAY=30", "jitter_seconds"),
        ("0~30 * * * * x", "jitter_seconds"),
        ("*/90 * * * * x", "schedule "),
        ("61 * * * * x", "schedule "),
        ("0 0 30 2 * x", "schedule "),
        ("* * * *", "is not a line of a crontab: 5 fields and a command"),
        ("@daily", "is not a line of a crontab: 1 field and a command"),
    ],
)
def test_import_crontab_gives_the_reason_for_entries_it_cannot_convert(line: str, why: str) -> None:
    (entry,) = entries(line)
    assert entry.job is None
    assert why in entry.notes[0]


def test_import_crontab_applies_settings_to_the_entries_below_them() -> None:
    text = "@hourly first\nCRON_TZ=Asia/Tokyo\nPATH = /opt/bin:/bin\nMAILTO=\"\"\nX='a b'\n@hourly second $X\n"
    first, second = entries(text)
    assert first.job is not None
    assert second.job is not None
    assert (first.job["timezone"], first.job["payload"]["command"]) == ("UTC", "first")
    assert second.job["timezone"] == "Asia/Tokyo"
    assert second.job["payload"]["command"] == "export PATH=/opt/bin:/bin X='a b'; second $X"


def test_import_crontab_reports_an_unknown_time_zone_for_each_entry() -> None:
    (entry,) = entries("CRON_TZ=Mars/Olympus\n@hourly x")
    assert entry.job is None
    assert "timezone" in entry.notes[0]


def test_import_crontab_runs_the_command_in_the_configured_shell() -> None:
    assert command("SHELL=/bin/bash\n@hourly echo {a,b}") == "/bin/bash -c 'echo {a,b}'"


def test_import_crontab_percent_sign_ends_the_command_and_the_rest_is_its_input() -> None:
    said = command(r"0 0 * * * cat; date +\%F > /dev/null # noted % first%it's \% second")
    assert subprocess.run(["sh", "-c", said], capture_output=True, text=True, check=True).stdout == (
        " first\nit's % second\n"
    )


@pytest.mark.parametrize(
    ("text", "given"),
    [("cat%", ""), ("cat%a", "a\n"), ("cat%a%", "a\n"), ("cat%a%%", "a\n\n"), ("cat%%", "\n"), ("cat%a%b ", "a\nb \n")],
)
def test_import_crontab_input_ends_as_under_cron(text: str, given: str) -> None:
    said = command(f"@daily {text}")
    shown = subprocess.run(["sh", "-c", said], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert shown.stdout == given


BREAKS = ["\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]


@pytest.mark.parametrize("mark", BREAKS)
def test_import_crontab_only_a_newline_ends_an_entry(mark: str) -> None:
    assert entries(f"# no job:{mark}* * * * * rm -rf /srv\n") == []
    (entry,) = entries(f"@daily echo a{mark}* * * * * echo b\n")
    assert entry.job is not None
    assert entry.job["payload"]["command"] == f"echo a{mark}* * * * * echo b"


@pytest.mark.parametrize("mark", [*BREAKS, "\xa0", "\u3000"])
def test_import_crontab_only_blanks_and_tabs_separate_fields(mark: str) -> None:
    (entry,) = entries(f"0 2 * *{mark}* echo b c\n")
    assert entry.job is None
    assert "a character that cron does not accept" in entry.notes[0]
    (entry,) = entries(f"{mark}# not a comment of cron\n")
    assert entry.job is None
    assert entry.notes


def test_import_crontab_removes_a_carriage_return_from_the_command() -> None:
    comment, blank, setting = "# no job\r\n", "\r\n", "X=a b\r\n"
    (entry,) = entries(f"{comment}{blank}{setting}@daily backup\r\n")
    assert entry.job is None
    assert "convert the line endings (dos2unix)" in entry.notes[0]
    assert command("X=a b\r\n@daily backup") == "export X='a b'; backup"
    assert entries("# no job\r* * * * * echo\n") == []


def test_import_crontab_reads_a_file_with_its_original_line_endings(tmp_path: Path) -> None:
    text = "# no job\r* * * * * rm -rf /srv\r\n"
    (tmp_path / "crontab").write_bytes(text.encode())
    assert read_text(str(tmp_path / "crontab")) == text


def test_import_crontab_escapes_braces_that_would_be_templates() -> None:
    assert command("@daily docker ps --format '{{.ID}}'") == "docker ps --format '\\{{.ID\\}}'"


def test_import_crontab_system_crontab_reports_the_user_of_each_entry() -> None:
    both = entries("17 * * * * root run-parts /etc/cron.hourly\n@daily www php cleanup.php\n", system=True)
    assert [entry.job and entry.job["payload"]["command"] for entry in both] == [
        "run-parts /etc/cron.hourly",
        "php cleanup.php",
    ]
    assert "ran as root" in both[0].notes[0]
    assert "ran as www" in both[1].notes[0]


@pytest.mark.parametrize(
    ("schedule", "how"), [("0 0 1 * 1", "match either"), ("0 0 */2 * 1", "match both"), ("0 0 1 * *", "")]
)
def test_import_crontab_explains_two_day_fields(schedule: str, how: str) -> None:
    (entry,) = entries(f"{schedule} x")
    assert (how in entry.notes[0]) if how else entry.notes == ()


@pytest.mark.parametrize(
    ("line", "job_id"),
    [
        ("cd /srv/shop && ./bin/clean.sh", "clean"),
        ("FOO=1 sudo -u www /usr/bin/php artisan schedule:run", "www"),
        ("[ -x /usr/sbin/anacron ] || run", "anacron"),
        ("'", "cron"),
    ],
)
def test_import_crontab_derives_the_id_from_a_word_of_the_command(line: str, job_id: str) -> None:
    (entry,) = entries(f"@daily {line}")
    assert entry.job is not None
    assert entry.job["id"] == job_id


def test_import_crontab_ids_are_unique() -> None:
    found = entries("@daily a\n@hourly a\n@weekly a-2\n@monthly a\n")
    assert [entry.job and entry.job["id"] for entry in found] == ["a", "a-2", "a-2-2", "a-3"]


def test_import_crontab_names_the_files_of_entries_that_are_gone(tmp_path: Path) -> None:
    file, folder = tmp_path / "my.crontab", tmp_path / "jobs"
    said = []
    for text in ("MAILTO=ops\n@daily backup\n@daily clean\n", "MAILTO=ops\n@daily backup\n"):
        file.write_text(text)
        options = ["--queue", "duecourse-target-cron", "-o", str(folder)]
        said.append(CliRunner().invoke(main, ["import", "crontab", str(file), *options]).stderr)
    assert "did not write" not in said[0]
    assert f"{folder} has files that this import did not write: clean.yaml; delete those" in said[1]
    assert said[1].startswith("no time zone is given: lines above a CRON_TZ are read in UTC")
    assert "    ignored\n" in said[1]
