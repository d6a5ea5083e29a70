"""What becomes of CronJobs."""

import os
import re
import subprocess
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from duecourse.cli.imports.entry import Entry, Names, NotReadableError, Runner, commands_of
from duecourse.cli.imports.kubernetes import read_cronjobs
from duecourse.cli.manifests.yaml_text import to_yaml
from duecourse_schedules import ScheduleSpec, compile_schedule

NOW = 1_795_000_000.0
BACKUP: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "backup", "namespace": "db"},
    "spec": {"schedule": "0 2 * * *", "jobTemplate": {"spec": {"activeDeadlineSeconds": 600}}},
}


def entries(text: str, zone: str = "UTC") -> list[Entry]:
    runner = Runner(queue="duecourse-target-cron")
    return read_cronjobs(text, file="jobs.yaml", runner=runner, names=Names(), zone=zone, now=NOW)


def entry(**spec: Any) -> Entry:
    (found,) = entries(to_yaml([BACKUP | {"spec": BACKUP["spec"] | spec}]))
    return found


def test_import_kubernetes_cronjob_becomes_a_job_that_creates_its_kubernetes_job_and_waits_for_it() -> None:
    found = entry()
    assert found.job is not None
    assert (found.job["id"], found.job["schedule"], found.job["overlap"]) == ("db-backup", "0 2 * * *", "allow")
    command = found.job["payload"]["command"]
    assert 'kubectl create job -n db --from=cronjob/backup "$job"' in command
    assert "date +%s) + 660" in command
    assert any("suspend the CronJob" in note for note in found.notes)


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"concurrencyPolicy": "Forbid"}, {"overlap": "skip"}),
        ({"concurrencyPolicy": "Replace"}, {"overlap": "replace"}),
        ({"startingDeadlineSeconds": 200}, {"start_deadline_seconds": 200}),
        ({"timeZone": "Europe/Berlin"}, {"timezone": "Europe/Berlin", "dst_gap": "skip", "dst_fold": "both"}),
        ({"schedule": "CRON_TZ=Asia/Tokyo 0 2 * * *"}, {"timezone": "Asia/Tokyo", "schedule": "0 2 * * *"}),
        ({"schedule": "@every 90m"}, {"schedule": "rate(90 minutes)"}),
        ({"schedule": "@every 1h"}, {"schedule": "rate(1 hour)"}),
        ({"schedule": "0 0 ? * 1"}, {"schedule": "0 0 ? * 1"}),
    ],
)
def test_import_kubernetes_converts_the_fields_of_a_cronjob(spec: dict[str, Any], fields: dict[str, Any]) -> None:
    found = entry(**spec)
    assert found.job is not None, found.notes
    assert {name: found.job.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    ("day", "times"),
    [
        (datetime(2027, 3, 28, tzinfo=UTC), []),  # the clock goes from 02:00 to 03:00
        (datetime(2026, 10, 25, tzinfo=UTC), ["00:30", "01:30"]),  # and from 03:00 back to 02:00
    ],
)
def test_import_kubernetes_runs_a_cronjob_as_in_the_cluster_when_the_clock_changes(
    day: datetime, times: list[str]
) -> None:
    job = entry(schedule="30 2 * * *", timeZone="Europe/Berlin").job
    assert job is not None
    fields = {name: job[name] for name in ("timezone", "dst_gap", "dst_fold")}
    end = int(day.timestamp()) + 82_800
    upcoming = compile_schedule(ScheduleSpec(job["schedule"], **fields)).upcoming(end - 86_400)
    assert [f"{datetime.fromtimestamp(at, UTC):%H:%M}" for at in takewhile(lambda at: at < end, upcoming)] == times


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"suspend": True}, "is suspended"),
        ({"schedule": "0 0 */2 * 1"}, "write 1-31/n"),
        ({"schedule": "nonsense"}, "schedule "),
        ({"timeZone": "Mars/Olympus"}, "timezone "),
    ],
)
def test_import_kubernetes_gives_the_reason_for_cronjobs_it_cannot_convert(spec: dict[str, Any], why: str) -> None:
    found = entry(**spec)
    assert found.job is None
    assert why in found.notes[0]


def test_import_kubernetes_reads_lists_and_reports_other_objects() -> None:
    other = {"kind": "Service", "metadata": {"name": "x"}}
    text = to_yaml([{"kind": "List", "items": [BACKUP, other]}, other, BACKUP])
    found = entries(text)
    assert [bool(each.job) for each in found] == [True, False, False, True]
    assert found[1].notes == ("is not a CronJob",)
    assert found[0].place == "jobs.yaml:3"


def test_import_kubernetes_names_a_file_that_is_not_yaml() -> None:
    with pytest.raises(NotReadableError, match=r"jobs\.yaml:1"):
        entries("a: b: c")


KUBECTL = """#!/bin/sh
echo "$@" >> {folder}/calls
case "$1" in
create) exit {create} ;;
get)
  left=$(cat {folder}/left); echo $((left - 1)) > {folder}/left
  [ "$left" -gt 0 ] && exit {early}
  printf '%s' '{state}'
  ;;
esac
"""


@pytest.mark.parametrize(
    ("state", "ends", "said"),
    [
        ("x Complete ", 0, ""),
        ("x SuccessCriteriaMet Complete ", 0, ""),
        ("x FailureTarget Failed ", 1, "failed"),
        ("", 1, "deleted"),
    ],
)
def test_import_kubernetes_command_ends_with_its_kubernetes_job(
    tmp_path: Path, state: str, ends: int, said: str
) -> None:
    ended = executed(tmp_path, state=state)
    assert (ended.returncode, said in ended.stderr) == (ends, True)
    create, *gets = (tmp_path / "calls").read_text().splitlines()
    name = create.rsplit(" ", 1)[1]
    assert re.fullmatch(r"create job -n db --from=cronjob/backup backup-\d+", create)
    assert all(each.startswith(f"get job -n db {name} ") for each in gets)


def test_import_kubernetes_command_waits_while_the_cluster_does_not_answer(tmp_path: Path) -> None:
    assert executed(tmp_path, state="x Complete ", early=1, left=1).returncode == 0
    assert executed(tmp_path, state="x Complete ", create=3).returncode == 3


def test_import_kubernetes_command_fails_if_the_kubernetes_job_does_not_end(tmp_path: Path) -> None:
    ended = executed(tmp_path, state="x", deadline=1)
    assert (ended.returncode, "has not ended after 1 s" in ended.stderr) == (1, True)


def executed(folder: Path, *, deadline: int = 600, **values: Any) -> subprocess.CompletedProcess[str]:
    found = entry(jobTemplate={"spec": {"activeDeadlineSeconds": deadline}})
    assert found.job is not None
    text = KUBECTL.format(folder=folder, **{"create": 0, "early": 0, "left": 0} | values)
    (folder / "left").write_text(str(values.get("left", 0)))
    (folder / "calls").write_text("")
    (folder / "kubectl").write_text(text)
    (folder / "kubectl").chmod(0o755)
    (folder / "time").write_text("1800000000")
    for name, does in (
        ("sleep", f"echo $(($(cat {folder}/time) + $1)) > {folder}/time"),
        ("date", f"cat {folder}/time"),
    ):
        (folder / name).write_text(f"#!/bin/sh\n{does}\n")
        (folder / name).chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}"}
    (command,) = commands_of([found])
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": "x; rm -rf /srv"},
        {"name": "$(id)"},
        {"name": "Backup"},
        {"name": "-x"},
        {"name": "a" * 53},
        {"name": "a\nb"},
        {"name": "backup", "namespace": "db; id"},
        {"name": "backup", "namespace": "a.b"},
        {"name": "backup", "namespace": "-n"},
        {"name": "backup", "namespace": ["db"]},
        {"name": ["backup"]},
        {},
        [],
    ],
)
def test_import_kubernetes_name_that_the_cluster_rejects_does_not_become_part_of_a_command(metadata: Any) -> None:
    (found,) = entries(to_yaml([BACKUP | {"metadata": metadata}]))
    assert found.job is None
    assert found.notes[0].startswith("metadata.name")


def test_import_kubernetes_ids_contain_the_namespace() -> None:
    def of(*spaces: str) -> dict[str, Any]:
        found = entries(to_yaml([BACKUP | {"metadata": {"name": "backup", "namespace": each}} for each in spaces]))
        return {space: each.job and each.job["id"] for space, each in zip(spaces, found, strict=True)}

    assert of("db", "web") == {"db": "db-backup", "web": "web-backup"} == of("web", "db")


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        ({"startingDeadlineSeconds": 604_801}, "startingDeadlineSeconds"),
        ({"startingDeadlineSeconds": "5m"}, "startingDeadlineSeconds"),
        ({"jobTemplate": {"spec": {"activeDeadlineSeconds": 10**30}}}, "activeDeadlineSeconds"),
        ({"jobTemplate": {"spec": {"activeDeadlineSeconds": "5m"}}}, "activeDeadlineSeconds"),
        ({"jobTemplate": {"spec": {"activeDeadlineSeconds": -1}}}, "activeDeadlineSeconds"),
        ({"jobTemplate": []}, "jobTemplate"),
        ({"schedule": "@every 1h"}, "counts from"),
    ],
)
def test_import_kubernetes_notes_every_value_that_it_cannot_use(spec: dict[str, Any], note: str) -> None:
    found = entry(**spec)
    assert found.job is not None
    assert any(note in each for each in found.notes)
    assert found.job.get("start_deadline_seconds", 1) <= 604_800


def test_import_kubernetes_rejects_an_unknown_policy() -> None:
    found = entry(concurrencyPolicy="forbid")
    assert (found.job, "concurrencyPolicy" in found.notes[0]) == (None, True)


def test_import_kubernetes_lists_a_document_that_is_not_an_object_and_imports_the_others() -> None:
    first, second, third = entries(f"- a\n---\n{to_yaml([BACKUP])}\n---\ntext\n")
    assert (first.job, third.job) == (None, None)
    assert "not a Kubernetes object" in first.notes[0]
    assert second.job is not None


def test_import_kubernetes_reads_the_items_of_a_list_of_cronjobs_which_have_no_kind() -> None:
    item = {name: value for name, value in BACKUP.items() if name not in ("kind", "apiVersion")}
    (found,) = entries(to_yaml([{"apiVersion": "batch/v1", "kind": "CronJobList", "items": [item]}]))
    assert found.job is not None
