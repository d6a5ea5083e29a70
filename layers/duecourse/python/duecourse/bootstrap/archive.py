"""The archiver, wired to AWS."""

from __future__ import annotations

from collections.abc import Mapping

from duecourse.adapters.aws.archive import S3Archive
from duecourse.adapters.aws.clients import client
from duecourse.adapters.dynamodb.runs.run_changes import DynamoRunChanges
from duecourse.settings import ArchiveSettings
from duecourse.usecases.maintenance.archive import ArchiveRuns


def archive_runs(environ: Mapping[str, str]) -> ArchiveRuns:
    """The archiver of this environment. Raises SettingsError."""
    settings = ArchiveSettings.from_env(environ)
    return ArchiveRuns(
        changes=DynamoRunChanges(client("dynamodbstreams")),
        archive=S3Archive(client("s3"), settings.archive_bucket),
    )
