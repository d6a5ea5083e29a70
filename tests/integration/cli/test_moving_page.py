"""docs/moving.md: its files are imported and applied by its commands, one after the other, as they stand there."""

import re
import shlex
from pathlib import Path

import pytest

from duecourse.cli.shell import read_allowed
from tests.integration.api.test_workflows_over_http import Desk
from tests.integration.cli.conftest import Run
from tests.support.emulators import ROOT

PAGE = (ROOT / "docs" / "moving.md").read_text()
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
SECTIONS = {each.splitlines()[0]: each for each in PAGE.split("\n## ")[1:]}
JOBS = {"Crontab": 8, "Kubernetes": 1, "systemd timers": 1, "Celery beat": 2, "EventBridge Scheduler": 1}
WITHOUT = {"Crontab": 3, "Kubernetes": 3, "systemd timers": 3, "Celery beat": 3, "EventBridge Scheduler": 0}
"""The exit codes: 3 where an entry was left out."""


def commands(section: str) -> list[list[str]]:
    """What is typed. (`duecourse work` waits for messages; test_work.py has it.)"""
    lines = re.findall(r"^duecourse .*$", SECTIONS[section], re.MULTILINE)
    return [words for line in lines if (words := shlex.split(line)[1:])[0] != "work"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("section", JOBS)
def test_import_commands_of_the_migration_page_work_as_written(
    section: str, run: Run, desk: Desk, folder: Path
) -> None:
    imported, applied = commands(section)
    result = run(*imported)
    assert result.exit_code == WITHOUT[section], result.output
    assert f"{JOBS[section]} jobs, " in result.stderr
    result = run(*applied)
    assert result.exit_code == (2 if "--dry-run" in applied else 0), result.output
    assert f"plan: {JOBS[section]} to create" in result.stdout
    if section == "Crontab":
        assert len(desk.api.get("/v1/jobs").json["items"]) == JOBS[section]
        assert run(*applied).exit_code == 0
        allowed = read_allowed((folder / "commands.txt").read_text())
        assert any("docker ps --format '{{.ID}}'" in each for each in allowed)


def test_import_reports_each_unsupported_entry_with_its_line(run: Run, folder: Path) -> None:
    hint, *said = run("import", "crontab", "my.crontab", "--queue", "duecourse-target-cron").stderr.splitlines()
    assert "--timezone" in hint
    assert said[0] == "my.crontab:1  MAILTO=ops@example.com"
    assert said[1] == "    ignored"
    assert said[2].startswith("    output is not mailed; ")
    reboot = said.index("my.crontab:8  @reboot warm-up.sh")
    assert said[reboot + 1] == "    no job"
    assert said[-1] == "8 jobs, 1 not imported"


def test_import_does_not_count_crontab_settings_as_entries(run: Run, folder: Path) -> None:
    (folder / "my.crontab").write_text("MAILTO=ops@example.com\n@daily backup.sh\n")
    result = run("import", "crontab", "my.crontab", "--queue", "duecourse-target-cron")
    assert result.exit_code == 0, result.output
    assert "output is not mailed" in result.stderr
    assert "1 jobs, 0 not imported" in result.stderr


def test_import_report_is_available_as_json(run: Run, folder: Path) -> None:
    said = run("import", "celery", "celeryconfig.py", "--target-url", "https://example.com/{id}", "--json").stdout
    assert '"place": "celeryconfig.py:7"' in said
    assert '"url": "https://example.com/monday"' in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("crontab", "my.crontab"), "the imported commands need a target"),
        (("crontab", "my.crontab", "--queue", "q", "--target-url", "https://x"), "cannot be combined"),
        (("crontab", "nowhere", "--queue", "q"), "nowhere"),
    ],
)
def test_import_rejects_missing_or_conflicting_targets_and_missing_files(
    run: Run, folder: Path, arguments: tuple[str, ...], said: str
) -> None:
    refused = run("import", *arguments)
    assert refused.exit_code == 2
    assert said in refused.stderr


def test_import_error_names_a_file_of_another_format(run: Run, folder: Path) -> None:
    refused = run("import", "kubernetes", "my.crontab", "--queue", "q")
    assert refused.exit_code == 3
    assert "my.crontab:" in refused.stderr
