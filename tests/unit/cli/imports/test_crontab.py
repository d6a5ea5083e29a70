"""What becomes of the lines of a crontab."""

import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from duecourse.cli.imports.crontab import is_system, read_crontab
from duecourse.cli.imports.entry import Entry, Names, Runner
from duecourse.cli.main import main
from duecourse.cli.terminal import read_text
from tests.support.examples import examples

NOW = 1_795_000_000.0
WORKED_ON = Runner(queue="duecourse-target-cron")


def entries(text: str, *, system: bool = False, zone: str = "UTC", runner: Runner = WORKED_ON) -> list[Entry]:
    return read_crontab(text, file="crontab", runner=runner, names=Names(), zone=zone, system=system, now=NOW)


def read(text: str, *, users: frozenset[str]) -> list[Entry]:
    names = Names()
    return read_crontab(text, file="x", runner=WORKED_ON, names=names, zone="UTC", system=False, now=NOW, users=users)


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
    assert entry.job is not None
    assert re.fullmatch("backup-[0-9a-f]{4}", entry.job.pop("id"))
    assert entry.job == {
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
    assert entry.job["target"] == {"type": "http", "url": f"https://example.com/{entry.job['id']}"}
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


def test_import_crontab_ids_are_unique() -> None:
    found = entries("@daily a\n@hourly a\n@weekly a-2\n@monthly a\n")
    assert len({entry.job and entry.job["id"] for entry in found}) == 4


def test_import_crontab_names_the_files_of_entries_that_are_gone(tmp_path: Path) -> None:
    file, folder = tmp_path / "my.crontab", tmp_path / "jobs"
    said = []
    for text in ("MAILTO=ops\n@daily backup\n@daily clean\n", "MAILTO=ops\n@daily backup\n"):
        file.write_text(text)
        options = ["--queue", "duecourse-target-cron", "-o", str(folder)]
        said.append(CliRunner().invoke(main, ["import", "crontab", str(file), *options]).stderr)
    assert "did not write" not in said[0]
    assert f"{folder} has files that this import did not write: clean-" in said[1]
    assert said[1].startswith("no time zone is given: lines above a CRON_TZ are read in UTC")
    assert "    ignored\n" in said[1]


@pytest.mark.parametrize(
    "text",
    ["HOME=/srv/shop\n@daily ./clean", "HOME='/srv/a b'\nSHELL=/bin/bash\n@daily cat%x", "X=1\nHOME=/srv\n@daily a%b"],
)
def test_import_crontab_home_is_the_working_directory_of_the_commands_below_it(text: str, tmp_path: Path) -> None:
    home = str(tmp_path / "it's here")
    (tmp_path / "it's here").mkdir()
    lines = text.split("\n")
    moved = [f"HOME={home}" if line.startswith("HOME=") else line for line in lines[:-1]]
    said = command("\n".join([*moved, '@daily cat > "$(pwd)/was"; echo "$HOME" > home% noted']))
    subprocess.run(["/bin/sh", "-c", said], check=True, cwd="/")
    assert (tmp_path / "it's here" / "was").read_text() == " noted\n"
    assert (tmp_path / "it's here" / "home").read_text() == f"{home}\n"


def test_import_crontab_does_not_run_a_command_in_another_folder_than_home() -> None:
    said = command("HOME=/nowhere\n@daily echo ran")
    ended = subprocess.run(["/bin/sh", "-c", said], capture_output=True, text=True, check=False)
    assert (ended.returncode != 0, ended.stdout) == (True, "")


def test_import_crontab_shell_does_not_read_the_assignments_and_the_input() -> None:
    said = command("SHELL=/usr/bin/env python3\nX=a b\n@daily import os; print(os.environ['X'], input())%c")
    assert said.startswith("export X='a b'; printf '%s\\n' c | { '/usr/bin/env python3' -c ")


@pytest.mark.parametrize(
    ("text", "note"), [("CRON_TZ=Asia/Tokyo\n@daily x", "Debian's cron ignores CRON_TZ"), ("CRON_TZ=UTC\n@daily x", "")]
)
def test_import_crontab_mentions_that_not_every_cron_reads_cron_tz(text: str, note: str) -> None:
    (entry,) = entries(text)
    assert entry.job is not None
    assert (note in entry.notes[0]) if note else entry.notes == ()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("0 0 12 * * ? /srv/report", "has '?' where the command is expected"),
        ("*/5 * * * * * /srv/poll", "has '*' where the command is expected"),
        ("0 0 12 1 * 2027 /srv/report", "has '2027' where the command is expected"),
        ("0 0 12 * * MON-FRI /srv/report", "has 'MON-FRI' where the command is expected"),
        ("0 0 12 1 1 ? 2027-2030 /srv/report", "has '?' where the command is expected"),
        ("0 0 12 * * */2 * /srv/report", "has '*/2' where the command is expected"),
        ("17 * * * * root cd / && run-parts /etc/cron.hourly", "begins with the user root; use --system"),
        ("17 * * * * www-data php cleanup.php", "begins with the user www-data; use --system"),
        ("17 * * * * ann poll", "begins with the user ann; use --system"),
        ("17 * * * * backup /usr/bin/rsync", "begins with the user backup; use --system"),
        ("@daily -q /srv/report", "has the option '-q' before the command"),
        ("0 5 * * * /srv/report \\", "cron does not continue lines"),
        ("@daily a\0b", "null character"),
        ("1 5 cron.daily nice run-parts /etc/cron.daily", "is a line of an anacrontab"),
        ("@monthly 45 cron.monthly nice run-parts /etc/cron.monthly", "is a line of an anacrontab"),
    ],
)
def test_import_crontab_does_not_run_other_fields_as_commands(line: str, why: str) -> None:
    (entry,) = read(line, users=frozenset(["ann"]))
    assert entry.job is None
    assert why in entry.notes[0]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("0 5 * * * /srv/report --all", "has '/srv/report' where the user is expected"),
        ("0 5 * * * cd /srv && ./report", "has 'cd' where the user is expected"),
        ("0 5 * * * FOO=1 /srv/report", "has 'FOO=1' where the user is expected"),
        ("0 0 5 * * * root /srv/report", "has '*' where the user is expected"),
        ("0 5 * * * root * /srv/report", "has '*' where the command is expected"),
    ],
)
def test_import_crontab_does_not_run_lines_without_a_user_as_the_commands_of_one(line: str, why: str) -> None:
    (entry,) = entries(line, system=True)
    assert entry.job is None
    assert why in entry.notes[0]


@pytest.mark.parametrize(
    "line",
    [
        "7z a /b.7z /srv",
        "docker pull x",
        "carl /usr/bin/poll",
        "php /opt/x.php",
        "backup /srv",
        "2>/dev/null x",
        "mail -s a b",
        "L x",
    ],
)
def test_import_crontab_runs_programs_whose_names_are_like_those_of_users_or_fields(line: str) -> None:
    (entry,) = entries(f"@daily {line}")
    assert entry.job is not None or line == "L x"
    assert bool(entry.notes) is (line.split(maxsplit=1)[0] in ("git", "carl", "backup", "mail", "L"))


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ("/etc/crontab", True),
        ("backup/etc/crontab", True),
        ("/etc/cron.d/php", True),
        ("cron.d/php", True),
        ("./etc/cron.d/php", True),
        ("my.crontab", False),
        ("-", False),
    ],
)
def test_import_crontab_knows_files_with_users_by_their_names(file: str, found: bool) -> None:
    assert is_system(file) is found


@examples(300)
@given(st.text("*/0159,- \t\n%\\'\"$@dailyrebootHOMECRN_TZ=SEL\0\r#~?[]Lé", max_size=80), st.booleans())
def test_import_crontab_has_a_result_for_every_text(text: str, system: bool) -> None:
    for entry in entries(text, system=system):
        assert entry.job is not None or entry.notes


@pytest.mark.parametrize(
    "schedule",
    [
        "0/15 * * * *",
        "0 0 L * *",
        "0 0 LW * *",
        "0 0 * * 5L",
        "0 0 * * 5#2",
        "0 0 ? * *",
        "0 0 15W * *",
        "0 0 * * 1,fri/2",
    ],
)
def test_import_crontab_does_not_import_times_that_cron_reads_differently_or_rejects(schedule: str) -> None:
    (entry,) = entries(f"{schedule} /bin/x\n")
    assert entry.job is None
    assert "cron" in entry.notes[0]


@pytest.mark.parametrize("schedule", ["*/15 * * * *", "0-59/15 0 1 jul wed", "0 0 * mar-jul mon-wed/2"])
def test_import_crontab_imports_steps_of_ranges_and_names_with_the_letters_of_other_schedulers(schedule: str) -> None:
    (entry,) = entries(f"{schedule} /bin/x\n")
    assert entry.job is not None, entry.notes


def test_import_crontab_does_not_import_a_line_with_input_but_no_command() -> None:
    (entry,) = entries("0 5 * * * %user% x\n")
    assert entry.job is None
    assert "no command" in entry.notes[0]


@pytest.mark.parametrize(
    "command",
    [
        "app cd /srv/app && ./run.sh",
        "app php artisan x",
        "app ./run.sh",
        "app ~/x",
        "app [ -x /y ] && /y",
        "app bash -lc x",
    ],
)
def test_import_crontab_notes_that_an_unknown_word_before_a_program_can_be_a_user(command: str) -> None:
    (entry,) = entries(f"0 5 * * * {command}\n")
    assert any("app can be a program or a user" in note for note in entry.notes)


@pytest.mark.parametrize(
    "command",
    ["make -C /srv x", "rsync -a ~/x /y", "nice php x", "sudo ./x", "docker pull x", "wget https://example.com"],
)
def test_import_crontab_does_not_take_usual_commands_for_users(command: str) -> None:
    (entry,) = entries(f"0 5 * * * {command}\n")
    assert not any("can be a program or a user" in note for note in entry.notes)
