"""The drills. Each causes one failure, and repairs it with the commands of a page."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from duecourse.cli.local.demo.receiver import CallLog, Receiver
from duecourse.cli.local.deployment import Step
from duecourse.cli.local.emulator.environment import ACCOUNT, REGION
from duecourse.cli.local.project import Project
from duecourse.cli.terminal import CliError
from scripts.drill import standby
from scripts.drill.pages import Commands
from scripts.drill.stage import EVERY, JOBS, DrillStage, Outcome, drill_stage

OPERATIONS, UPGRADING, RUNBOOKS = "operations.md", "upgrading.md", "runbooks.md"
STOP_ALL = Commands(OPERATIONS, "Pausing everything", 3)
START_ALL = Commands(OPERATIONS, "Pausing everything", 4)
STOP_API = Commands(UPGRADING, "Restoring", 0)
RESTORE = Commands(UPGRADING, "Restoring", 1)
COPY_BACK = Commands(UPGRADING, "Restoring", 2)
START_API = Commands(UPGRADING, "Restoring", 3)
RESTORE_BESIDE = Commands(OPERATIONS, "Restoring a table", 0)
RESTORE_DELETED = Commands(OPERATIONS, "Restoring a table", 1)
ENABLE_TTL = Commands(OPERATIONS, "Restoring a table", 2)
LIST_ARCHIVE = Commands(RUNBOOKS, "ArchiveStopped", 0)
NEW_STREAM = Commands(RUNBOOKS, "ArchiveStopped", 2)
BACKFILL = Commands(RUNBOOKS, "OccurrencesLost", 1)
EMPTIED = Commands(OPERATIONS, "A bucket was emptied", 0)

OUTAGE_SECONDS = 60.0
"""The time between the damage and its repair, in seconds. People need longer, but a drill should end soon."""
AHEAD = timedelta(minutes=15)
"""Messages are sent at most this long before their run is due."""
BROKEN = 'raise ImportError("a bad release")\n'


@dataclass(frozen=True, slots=True)
class Other:
    """Deploys a stage in another region: another emulator."""

    project: Project
    folder: Path
    step: Step
    receiver: Receiver
    log: CallLog

    def __call__(self) -> AbstractContextManager[DrillStage]:
        """Return a context in which the stage is deployed."""
        return drill_stage(self.project, self.folder / "region", self.step, self.receiver, self.log)


@dataclass(frozen=True, slots=True)
class Drill:
    """A failure with its repair. `play` returns the outcome; `differs` describes the differences from AWS."""

    name: str
    about: str
    page: str
    play: Callable[[DrillStage, Other], Outcome]
    differs: str = ""


def stopped_lanes(stage: DrillStage, _other: Other) -> Outcome:
    """Throttle the workers for a while, as an account without concurrency does."""
    since = datetime.now(UTC)
    workers = 'for each in $WORKERS; do aws lambda {} --function-name "$(output "$each")" {}; done'
    stage.run(workers.format("put-function-concurrency", "--reserved-concurrent-executions 0"))
    time.sleep(OUTAGE_SECONDS)
    stage.run(workers.format("delete-function-concurrency", ""))
    return stage.outcome(since)


def bad_release(stage: DrillStage, _other: Other) -> Outcome:
    """Deploy failing code to one lane's workers, while dispatch and API keep their code; then deploy the old code
    again.
    """
    since = datetime.now(UTC)
    functions = stage.aws("lambda")
    name = stage.output_of("ExecuteNormalFunction")
    template = stage.aws("cloudformation").get_template(StackName="Duecourse-local")["TemplateBody"]
    handler = functions.get_function_configuration(FunctionName=name)["Handler"]
    code = next(
        each["Properties"]["Code"]
        for logical, each in template["Resources"].items()
        if each["Type"] == "AWS::Lambda::Function" and logical.startswith("ExecuteNormal")
    )
    functions.update_function_code(FunctionName=name, ZipFile=_zipped(handler.split(".")[0], BROKEN))
    time.sleep(OUTAGE_SECONDS)
    stage.run(STOP_ALL.text())
    functions.update_function_code(FunctionName=name, S3Bucket=_text(code["S3Bucket"]), S3Key=code["S3Key"])
    stage.run(_started())
    return stage.outcome(since)


def wrong_items(stage: DrillStage, _other: Other) -> Outcome:
    """Delete the items of all jobs, and copy the items of a restored table back."""
    stage.run(RESTORE.text())  # the emulator restores the present, so this happens before the damage
    since = datetime.now(UTC)
    jobs = stage.output_of("JobsTable")
    _delete_items(stage, jobs, lambda item: any(each in item["PK"]["S"] for each in JOBS))
    time.sleep(OUTAGE_SECONDS)
    stage.run(STOP_ALL.text())
    stage.run(STOP_API.text())
    stage.run(COPY_BACK.text())
    stage.run(START_API.text())
    stage.run(_started())
    stage.run("aws dynamodb delete-table --table-name duecourse-restored")
    return stage.outcome(since)


def deleted_job(stage: DrillStage, _other: Other) -> Outcome:
    """Delete one job, look at it in a table that was restored beside the running stage, and post it again."""
    found = stage.run(RESTORE_BESIDE.text().replace("nightly", JOBS[0]))
    if '"Item"' not in found:
        raise CliError(f"the restored table does not contain {JOBS[0]}")
    began = datetime.now(UTC)
    stage.client.delete_job(JOBS[0])
    stage.client.create_job(stage.definition(JOBS[0]))
    posted = datetime.now(UTC)  # there was no job before, so nothing was due
    stage.run("aws dynamodb delete-table --table-name duecourse-restored")
    result = stage.outcome(posted)
    return replace(result, seconds=round(result.seconds + (posted - began).total_seconds(), 1))


def jobs_table(stage: DrillStage, _other: Other) -> Outcome:
    """Delete the jobs table."""
    return _deleted_table(stage, "JobsTable")


def runs_table(stage: DrillStage, _other: Other) -> Outcome:
    """Delete the runs table. Its stream and the archive's event source are created again before TTL is enabled."""
    return _deleted_table(stage, "RunsTable")


def _deleted_table(stage: DrillStage, output: str) -> Outcome:
    table = stage.output_of(output)
    backup = stage.aws("dynamodb").create_backup(TableName=table, BackupName="drill")["BackupDetails"]["BackupArn"]
    time.sleep(2 * EVERY.total_seconds())  # runs that the backup does not have
    since = datetime.now(UTC)
    stage.run('aws dynamodb update-table --table-name "$TABLE" --no-deletion-protection-enabled', TABLE=table)
    stage.run('aws dynamodb delete-table --table-name "$TABLE"', TABLE=table)
    time.sleep(OUTAGE_SECONDS)
    stage.run(STOP_ALL.text())
    stage.run(RESTORE_DELETED.text().replace("JobsTable", output), BACKUP=backup)
    if output == "RunsTable":
        stage.run(
            'aws dynamodb update-table --table-name "$TABLE" --stream-specification '
            "StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES",
            TABLE=table,
        )
        lists = LIST_ARCHIVE.text()
        (source,) = stage.aws("lambda").list_event_source_mappings(FunctionName=stage.output_of("ArchiveFunction"))[
            "EventSourceMappings"
        ]
        stage.run(f'{lists}\ncd "$(mktemp -d)"\n{NEW_STREAM.text()}', UUID=source["UUID"])
    stage.run(ENABLE_TTL.text(), TABLE=table)
    stage.run(_started())
    return stage.outcome(since)


def purged_queue(stage: DrillStage, _other: Other) -> Outcome:
    """Purge a lane with messages, and backfill the lost occurrences."""
    since = datetime.now(UTC)
    lanes = {each: stage.run(f"event_sources {each}").split()[0] for each in ("LaneNormalUrl", "LaneNormalBulkUrl")}
    for source in lanes.values():
        stage.run('aws lambda update-event-source-mapping --uuid "$UUID" --no-enabled', UUID=source)
    time.sleep(OUTAGE_SECONDS)
    for lane, source in lanes.items():
        stage.run('aws sqs purge-queue --queue-url "$(output "$LANE")"', LANE=lane)
        stage.run('aws lambda update-event-source-mapping --uuid "$UUID" --enabled', UUID=source)
    purged = datetime.now(UTC)
    return _backfilled(stage, since, purged + AHEAD)


def _backfilled(stage: DrillStage, since: datetime, until: datetime) -> Outcome:
    """Wait until `until`, and then backfill the missing occurrences since `since`."""
    seconds = 2 * AHEAD.total_seconds()
    stage.wait("waiting for the end of the lost time", lambda: datetime.now(UTC) > until, seconds=seconds)
    at_first = stage.outcome(since, lost=True).lost
    window = [f"{each:%Y-%m-%dT%H:%M:%SZ}" for each in (since, until)] * 2
    for job in JOBS:
        stage.run(f"{BACKFILL.text(*window)} --yes", JOB=job)
    return replace(stage.outcome(since), lost_at_first=at_first)


def lost_region(stage: DrillStage, other: Other) -> Outcome:
    """Lose the region, and restore copies of both tables, of different times, into a stage of another region."""
    copies: dict[str, list[Mapping[str, Any]]] = {}
    copied = datetime.now(UTC)
    copies["JobsTable"] = _items(stage, stage.output_of("JobsTable"))
    time.sleep(2 * EVERY.total_seconds())
    copies["RunsTable"] = _items(stage, stage.output_of("RunsTable"))
    since = datetime.now(UTC)
    stage.run(STOP_ALL.text())  # the lost region fires nothing
    with other() as new:
        new.run(STOP_ALL.text())
        for output, items in copies.items():
            new.run(RESTORE.text().replace("JobsTable", output))  # an empty table with the same keys
            for item in items:
                new.aws("dynamodb").put_item(TableName="duecourse-restored", Item=item)
            new.run(COPY_BACK.text().replace("JobsTable", output))
            new.run("aws dynamodb delete-table --table-name duecourse-restored")
        new.run(_started())
        result = _backfilled(new, since, copied + AHEAD)
    stage.run(_started())
    return result


def lost_region_with_standby(stage: DrillStage, other: Other) -> Outcome:
    """Lose the region of another stage, which has a standby, and let the standby work."""
    stage.run(STOP_ALL.text())  # only the other stage works
    result = standby.play(other.project, other.folder / "standby", other.step, _backfilled)
    stage.run(_started())
    return result


def emptied_bucket(stage: DrillStage, _other: Other) -> Outcome:
    """Empty the archive's bucket."""
    since = datetime.now(UTC)
    store = stage.aws("s3")
    bucket = stage.output_of("ArchiveBucket")
    keys = [f"runs/drill-{number}" for number in range(20)]
    for key in keys:
        store.put_object(Bucket=bucket, Key=key, Body=key.encode())

    def missing() -> int:
        return len(set(keys) - {each["Key"] for each in store.list_objects_v2(Bucket=bucket).get("Contents", ())})

    stage.run('aws s3 rm --recursive "s3://$BUCKET"', BUCKET=bucket)
    gone = missing()
    stage.run(EMPTIED.text())
    lost = missing()
    result = stage.outcome(since)
    return replace(result, occurrences=len(keys), succeeded=len(keys) - lost, lost=lost, lost_at_first=gone)


DRILLS = (
    Drill(
        "throttled",
        "the workers are throttled for a minute",
        "operations.md#the-account-is-throttled",
        stopped_lanes,
        "the drill sets and removes the throttle itself",
    ),
    Drill(
        "release",
        "a bad release reaches one lane's workers",
        "operations.md#a-faulty-release",
        bad_release,
        "no alarm rolls the release back; the drill puts the old code back itself, without a canary",
    ),
    Drill(
        "job",
        "a job is deleted, and looked up in a table restored beside the stage",
        "operations.md#restoring-a-table",
        deleted_job,
        "the emulator restores the present state",
    ),
    Drill(
        "items",
        "the items of all jobs are deleted",
        "upgrading.md#restoring",
        wrong_items,
        "the emulator restores the present state, so the copy is made before the damage",
    ),
    Drill(
        "jobs-table",
        "the jobs table is deleted",
        "operations.md#restoring-a-table",
        jobs_table,
        "AWS makes the last backup itself; the drill makes it 20 s before the damage",
    ),
    Drill(
        "runs-table",
        "the runs table is deleted",
        "operations.md#restoring-a-table",
        runs_table,
        "as above; runs since the backup have no record",
    ),
    Drill("queue", "a lane is purged", "operations.md#a-queue-was-purged-or-lost-its-messages", purged_queue),
    Drill(
        "bucket",
        "the archive's bucket is emptied",
        "operations.md#a-bucket-was-emptied",
        emptied_bucket,
        "counts objects instead of occurrences",
    ),
    Drill(
        "region",
        "the region is lost",
        "operations.md#a-region-is-lost",
        lost_region,
        "another emulator is the other region; the drill copies the items as AWS Backup would",
    ),
    Drill(
        "standby",
        "the region of a stage with a standby is lost",
        "operations.md#a-stage-with-a-standby",
        lost_region_with_standby,
        "the drill copies the items; of each item, the standby gets the version of a moment of the last five seconds",
    ),
)
"""The drills, in the order in which `make drill` runs them."""


def _started() -> str:
    """Return the commands that start everything, without the doctor: it reports the missing ticks for a minute."""
    return START_ALL.text().partition("duecourse doctor")[0]


def _zipped(module: str, source: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"{module.replace('.', '/')}.py", source)
    return packed.getvalue()


def _text(value: Any) -> str:
    """Return the name of the bucket of assets, which the template composes from account and region."""
    return value if isinstance(value, str) else f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}"


def _items(stage: DrillStage, table: str) -> list[Mapping[str, Any]]:
    pages = stage.aws("dynamodb").get_paginator("scan").paginate(TableName=table)
    return [item for page in pages for item in page["Items"]]


def _delete_items(stage: DrillStage, table: str, chosen: Callable[[Mapping[str, Any]], bool]) -> None:
    database = stage.aws("dynamodb")
    for item in filter(chosen, _items(stage, table)):
        database.delete_item(TableName=table, Key={"PK": item["PK"], "SK": item["SK"]})
