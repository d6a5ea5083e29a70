"""What becomes of CronJobs."""

from datetime import UTC, datetime
from itertools import takewhile
from typing import Any

import pytest

from duecourse.cli.imports.entry import Entry, Names, NotReadableError, Runner
from duecourse.cli.imports.kubernetes import read_cronjobs
from duecourse.cli.manifests.yaml_text import to_yaml
from duecourse.domain.schedules import ScheduleSpec, compile_schedule

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
    assert (found.job["id"], found.job["schedule"], found.job["overlap"]) == ("backup", "0 2 * * *", "allow")
    assert found.job["payload"]["command"] == (
        'job=backup-$(date +%s) && kubectl create job -n db --from=cronjob/backup "$job" && '
        'kubectl wait -n db --for=condition=complete --timeout=600s "job/$job"'
    )
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
    assert [each.job and each.job["id"] for each in found] == ["backup", None, None, "backup-2"]
    assert found[1].notes == ("is not a CronJob",)
    assert found[0].place == "jobs.yaml:3"


def test_import_kubernetes_names_a_file_that_is_not_yaml() -> None:
    with pytest.raises(NotReadableError, match=r"jobs\.yaml:1"):
        entries("a: b: c")
