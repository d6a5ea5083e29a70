"""`duecourse jobs edit`: a job is changed in an editor, here a program that does what a person would."""

import json
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from tests.integration.api.test_workflows_over_http import Desk
from tests.integration.cli.conftest import Run
from tests.support.api import HTTP_TARGET
from tests.support.served_api import ServedApi

Editor = Callable[..., str]


class Terminal(BytesIO):
    """A standard input that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    """An editor that replaces words, a pair at each start, and keeps what it was shown in shown-1, shown-2, …"""

    def made(*replacements: tuple[str, str]) -> str:
        program = tmp_path / "editor.py"
        program.write_text(
            f"""
import json, os, pathlib, sys
folder, file = pathlib.Path({str(tmp_path)!r}), pathlib.Path(sys.argv[1])
number = len(list(folder.glob("shown-*"))) + 1
text = file.read_text()
(folder / f"shown-{{number}}").write_text(text)
pairs = {json.dumps(replacements)}
if number <= len(pairs):
    file.write_text(text.replace(*pairs[number - 1]))
    os.utime(file, (0, 0))  # another time than before, however coarse the clock
"""
        )
        return f"{sys.executable} {program}"

    return made


@pytest.fixture(autouse=True)
def nightly(desk: Desk) -> None:
    desk.api.post({"id": "nightly", "schedule": "0 2 * * *", "target": HTTP_TARGET, "payload": {"a": 1}})


def test_edit_saves_the_edited_file_as_the_job(run: Run, desk: Desk, editor: Editor, tmp_path: Path) -> None:
    edited = run("jobs", "edit", "nightly", EDITOR=editor(("0 2", "30 2")))
    assert edited.exit_code == 0, edited.output
    assert edited.stdout == "nightly changed\n    schedule: 0 2 * * * -> 30 2 * * *\n"
    job = desk.api.get("/v1/jobs/nightly").json
    assert (job["schedule"], job["payload"]) == ("30 2 * * *", {"a": 1})
    assert "id: nightly\nschedule: 0 2 * * *\ntimezone: UTC\n" in (tmp_path / "shown-1").read_text()


def test_edit_of_an_unsaved_or_equivalent_file_changes_nothing(run: Run, api: ServedApi, editor: Editor) -> None:
    for pairs in ((), (("", ""), ("schedule: 0 2 * * *", "schedule: '0 2 * * *'  # at two"))):
        assert run("jobs", "edit", "nightly", EDITOR=editor(*pairs)).stdout == "nothing has changed\n"
    assert api.written == []


def test_edit_shows_rejected_values_in_the_reopened_file(run: Run, desk: Desk, editor: Editor, tmp_path: Path) -> None:
    changes = [
        ("0 2 *", "0 99 *"),
        ("id: nightly", "id: other"),
        ("id: other", "id: [nightly"),
        ("[", ""),
        ("0 99 *", "5 2 *"),
    ]
    edited = run("jobs", "edit", "nightly", text=Terminal(), EDITOR=editor(*changes))
    assert edited.exit_code == 0, edited.output
    shown = [(tmp_path / f"shown-{number}").read_text() for number in range(1, 6)]
    assert "# rejected: line 4: schedule: " in shown[1]
    assert shown[2].startswith("# rejected: the file must contain only the job nightly")
    assert "# rejected: line " in shown[3]
    assert shown[4].count("# rejected: ") == 1
    assert desk.api.get("/v1/jobs/nightly").json["schedule"] == "5 2 * * *"


@pytest.mark.parametrize("replaced", [("0 2 *", "0 99 *"), ("id: nightly", "id: other"), ("schedule:", "[")])
def test_edit_without_a_terminal_ends_with_the_errors(
    run: Run, desk: Desk, editor: Editor, tmp_path: Path, replaced: tuple[str, str]
) -> None:
    program = editor(*[replaced] * 3, *[("", "# again\n")] * 3)
    edited = run("jobs", "edit", "nightly", EDITOR=program)
    assert edited.exit_code == 1
    assert "duecourse: the change was rejected:\n    " in edited.stderr
    assert "nothing was changed; correct it, and use duecourse apply -f" in edited.stderr
    assert [each.name for each in tmp_path.glob("shown-*")] == ["shown-1"]
    Path(edited.stderr.split()[-1]).unlink()
    assert desk.api.get("/v1/jobs/nightly").json["schedule"] == "0 2 * * *"


def test_edit_keeps_the_text_of_an_abandoned_edit(run: Run, desk: Desk, editor: Editor) -> None:
    edited = run("jobs", "edit", "nightly", text=Terminal(), EDITOR=editor(("0 2 *", "0 99 *")))
    assert edited.exit_code == 1
    kept = Path(edited.stderr.split()[-1])
    assert "schedule: 0 99 * * *" in kept.read_text()
    kept.unlink()
    assert desk.api.get("/v1/jobs/nightly").json["schedule"] == "0 2 * * *"


def test_edit_does_not_overwrite_a_concurrent_change(run: Run, desk: Desk, api: ServedApi, editor: Editor) -> None:
    def meanwhile(method: str, path: str, query: str) -> None:
        if method == "PUT" and not query:
            desk.patch("nightly", {"name": "Mine"})

    api.before_each(meanwhile)
    edited = run("jobs", "edit", "nightly", EDITOR=editor(("0 2", "30 2")))
    assert edited.exit_code == 1
    assert "changed by another caller in the meantime; nothing was written" in edited.stderr
    Path(edited.stderr.split()[-1]).unlink()
    assert desk.api.get("/v1/jobs/nightly").json["schedule"] == "0 2 * * *"


def test_edit_changes_a_workflow_with_its_jobs(run: Run, desk: Desk, editor: Editor) -> None:
    desk.put(path="/v1/workflows/flow")
    edited = run("jobs", "edit", "flow", EDITOR=editor(("max_attempts: 1", "max_attempts: 2")))
    assert edited.exit_code == 0, edited.output
    assert desk.api.get("/v1/jobs/extract").json["retry"]["max_attempts"] == 2


def test_edit_output_of_get_can_be_applied(run: Run, tmp_path: Path) -> None:
    for form in ("yaml", "json"):
        file = tmp_path / f"job.{form}"
        file.write_text(run("jobs", "get", "nightly", "-o", form).stdout)
        assert "understood_as" in file.read_text()
        again = run("apply", "-f", str(file), "--dry-run")
        assert again.exit_code == 0, again.output
