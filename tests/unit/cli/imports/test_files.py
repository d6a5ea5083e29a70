"""The files that imports write: ids, folders and lists of allowed commands."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from duecourse.cli.imports.command_names import program_of
from duecourse.cli.imports.crontab import read_crontab
from duecourse.cli.imports.entry import MAX_ID, Names, Runner
from duecourse.cli.main import main
from duecourse.cli.manifests.yaml_text import parse
from duecourse.cli.shell import read_allowed
from tests.support.examples import examples

PACKAGES = {
    "e2scrub_all": "test -e /run/systemd/system || SERVICE_MODE=1 /usr/lib/x86_64-linux-gnu/e2fsprogs/e2scrub_all_cron",
    "mdadm": "if [ -x /usr/share/mdadm/checkarray ] && [ $(date +\\%d) -le 7 ]; then "
    "/usr/share/mdadm/checkarray --cron --all --idle --quiet; fi",
    "php": "if [ -x /usr/lib/php/sessionclean ] && [ ! -d /run/systemd/system ]; then /usr/lib/php/sessionclean; fi",
    "sysstat": "command -v debian-sa1 > /dev/null && debian-sa1 1 1",
    "popularity": "if [ -x /etc/cron.daily/popularity-contest ]; then /etc/cron.daily/popularity-contest --crond; fi",
}


def imported(kind: str, file: Path, folder: Path, *more: str) -> Result:
    options = ["--queue", "duecourse-target-cron", "-o", str(folder), *more]
    return CliRunner().invoke(main, ["import", kind, str(file), *options])


def jobs(folder: Path) -> dict[str, str]:
    """The schedule and the command of each file, by id."""
    found = [json.loads(json.dumps(each.value)) for file in folder.iterdir() for each in parse(file.read_text())]
    return {job["id"]: f"{job['schedule']} {job['payload']['command']}" for job in found}


def ids(*lines: str) -> dict[str, str]:
    """The id of each command."""
    text = "".join(f"{line}\n" for line in lines)
    runner = Runner(queue="q")
    found = read_crontab(text, file="x", runner=runner, names=Names(), zone="UTC", system=False, now=1.8e9)
    return {str(each.job["name"]): str(each.job["id"]) for each in found if each.job is not None}


@pytest.mark.parametrize(
    ("command", "program"),
    [
        *(
            (command, name)
            for name, command in zip(
                ["e2scrub_all_cron", "checkarray", "sessionclean", "debian-sa1", "popularity-contest"],
                PACKAGES.values(),
                strict=True,
            )
        ),
        ("cd /srv/shop && ./bin/clean.sh", "clean"),
        ("cd /srv; FOO=1 sudo -u www /usr/bin/php artisan schedule:run", "artisan"),
        ("[ -x /usr/sbin/anacron ] || run", "run"),
        ("[[ $(date +%d) == 01 ]] && /srv/close.sh", "close"),
        ("test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.daily )", "cron.daily"),
        ("flock -n /tmp/lock -c 'nice -n 10 /opt/sync.py --all'", "sync"),
        ("flock -w 5 /tmp/lock timeout -k 5 300 python3 -m shop.nightly", "shop.nightly"),
        ("/usr/bin/env -i A=1 B=2 ionice -c2 -n7 rsync -a / /backup", "rsync"),
        ("bash -lc 'cd /srv/app && source venv/bin/activate && python manage.py clearsessions'", "manage"),
        ("su - app -c '/home/app/bin/poll'", "poll"),
        ("java -Xmx1g -jar /opt/report.jar", "report"),
        ("while read x; do echo $x; done < /tmp/list", "echo"),
        ("export A=b; umask 077; set -e; pg_dump shop > /tmp/x", "pg_dump"),
        ("! pgrep worker || /srv/start", "pgrep"),
        ("for i in 1 2 3; do /srv/poll.sh; sleep 20; done", "poll"),
        ("sleep 30; curl -s https://example.com/x", "curl"),
        ("[ $(date +%u) = 1 ]", "cron"),
        ("'", "cron"),
        ("$HOME/bin/x.sh", "x"),
        ("2>/dev/null /srv/x", "x"),
    ],
)
def test_import_id_contains_the_program_of_the_command(command: str, program: str) -> None:
    assert program_of(command) == program


@examples(200)
@given(st.text("ab/.-$(`)'\"\\;&|<>[] =cdiftsuo{}!", max_size=60))
def test_import_id_exists_for_every_command(command: str) -> None:
    assert program_of(command)
    assert all(0 < len(each) <= MAX_ID for each in ids(f"@daily {command}").values())


def test_import_id_stays_with_its_command_when_lines_move() -> None:
    lines = ["@daily /a/backup.sh", "@daily /b/backup.sh", "@daily backup.sh --full", "@daily " + "x" * 100]
    before = ids(*lines)
    assert len(set(before.values())) == 4
    after = ids("@hourly /c/backup.sh", *reversed(lines), "@hourly backup.sh")
    assert {name: after[name] for name in before} == before


def test_import_id_stays_with_the_command_of_a_user() -> None:
    def of(text: str) -> list[str]:
        runner = Runner(queue="q")
        found = read_crontab(text, file="x", runner=runner, names=Names(), zone="UTC", system=True, now=1.8e9)
        return [each.job["id"] for each in found if each.job is not None]

    ann, bob = "@daily ann poll\n", "@daily bob poll\n"
    assert of(ann + bob) == of(ann) + of(bob) == list(reversed(of(bob + ann)))


def test_import_files_of_two_sources_in_one_folder_keep_all_their_jobs(tmp_path: Path) -> None:
    folder, allow = tmp_path / "jobs", tmp_path / "commands.txt"
    for number, (name, command) in enumerate(PACKAGES.items()):
        (tmp_path / name).write_text(f"{number} * * * * root {command}\n")
        result = imported("crontab", tmp_path / name, folder, "--system", "--allow-file", str(allow))
        assert result.exit_code == 0, result.output
        assert "did not write" not in result.stderr
    assert len(jobs(folder)) == 5
    assert read_allowed(allow.read_text()) == {command.replace("\\%", "%") for command in PACKAGES.values()}


@pytest.mark.parametrize("command", ["backup.sh", "x" * 100])
def test_import_never_overwrites_the_file_of_another_source(tmp_path: Path, command: str) -> None:
    folder = tmp_path / "jobs"
    for name, hour in (("one", 1), ("two", 2), ("one", 3)):
        (tmp_path / name).write_text(f"0 {hour} * * * {command}\n")
        assert imported("crontab", tmp_path / name, folder).exit_code == 0
    assert sorted(jobs(folder).values()) == [f"0 2 * * * {command}", f"0 3 * * * {command}"]


CELERY = '{"nightly": {"task": "a", "schedule": 60}}'
CRONJOB = "kind: CronJob\nmetadata: {name: nightly}\nspec: {schedule: '@daily'}\n"
EVENT = json.dumps({"Name": "nightly", "ScheduleExpression": "rate(1 minute)", "Target": {"Arn": "x"}})


@pytest.mark.parametrize(("kind", "text"), [("celery", CELERY), ("kubernetes", CRONJOB), ("eventbridge", EVENT)])
def test_import_of_every_scheduler_keeps_files_that_it_did_not_write(tmp_path: Path, kind: str, text: str) -> None:
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "nightly.yaml").write_text("id: nightly\nname: mine\n")
    (tmp_path / "file").write_text(text)
    for _ in range(2):
        result = imported(kind, tmp_path / "file", folder)
        assert result.exit_code == 0, result.output
        assert len(list(folder.iterdir())) == 2
    assert (folder / "nightly.yaml").read_text() == "id: nightly\nname: mine\n"
    assert "nightly.yaml" in result.stderr


def test_import_from_standard_input_does_not_overwrite_a_different_file(tmp_path: Path) -> None:
    def piped(text: str) -> Result:
        options = ["import", "crontab", "-", "--queue", "q", "-o", str(tmp_path / "jobs")]
        return CliRunner().invoke(main, options, input=text)

    assert [piped("@daily backup\n").exit_code for _ in range(2)] == [0, 0]
    before = jobs(tmp_path / "jobs")
    result = piped("@hourly backup\n@daily another\n")
    assert result.exit_code == 1
    assert "save the input as a file" in result.stderr
    assert jobs(tmp_path / "jobs") == before


def test_import_names_the_files_of_entries_that_no_longer_exist_but_not_those_of_other_imports(tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    (tmp_path / "one").write_text("@daily backup\n@daily clean\n")
    (tmp_path / "two").write_text("@daily poll\n")
    assert [imported("crontab", tmp_path / name, folder).exit_code for name in ("one", "two")] == [0, 0]
    (tmp_path / "one").write_text("@daily backup\n")
    said = imported("crontab", tmp_path / "one", folder).stderr
    assert "did not write: clean-" in said
    assert "poll" not in said


def test_import_keeps_the_other_lines_of_the_allow_file(tmp_path: Path) -> None:
    allow = tmp_path / "commands.txt"
    allow.write_text("# mine\nbackup --all")
    (tmp_path / "one").write_text("@daily clean\n@hourly backup --all\n")
    for _ in range(2):
        assert imported("crontab", tmp_path / "one", tmp_path / "jobs", "--allow-file", str(allow)).exit_code == 0
    assert allow.read_text() == "# mine\nbackup --all\nclean\n"


@pytest.mark.parametrize("content", [b'"no json\n', b"\xff\n"])
def test_import_writes_nothing_if_the_allow_file_is_not_readable(tmp_path: Path, content: bytes) -> None:
    allow = tmp_path / "commands.txt"
    allow.write_bytes(content)
    (tmp_path / "one").write_text("@daily clean\n")
    result = imported("crontab", tmp_path / "one", tmp_path / "jobs", "--allow-file", str(allow))
    assert result.exit_code in (1, 2)
    assert "commands.txt" in result.stderr
    assert not (tmp_path / "jobs").exists()
    assert allow.read_bytes() == content
