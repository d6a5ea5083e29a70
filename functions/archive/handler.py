"""The Lambda handler of the archiver: it writes expired records from batches of the runs table's
stream into the archive.
"""

from __future__ import annotations

import os
from typing import Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.utilities.typing import LambdaContext

from duecourse.settings import ArchiveSettings
from duecourse.telemetry import function_logger, publish
from duecourse.wiring import Wiring, made_at_start

logger = function_logger()
metrics = Metrics()
_archive = made_at_start(lambda: Wiring(ArchiveSettings.from_env(os.environ)).archive)


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Archive a batch of the stream. If part of it was not written, the whole batch is reported as failed from its
    first record on, so that the same batch is delivered again. An exception would split the batch and rename its
    objects.

    The event can also be a message of the failure queue, for a batch that the event source has discarded. Raises
    RuntimeError if the records of such a batch could not be archived.
    """
    failed = event.get("DDBStreamBatchInfo")
    report = _archive()(event["Records"]) if failed is None else _archive().again(failed)
    publish(report, logger, metrics, function="archive")
    incomplete = bool(report.counts["ArchivesFailed"])
    if failed is None:
        first = [{"itemIdentifier": event["Records"][0]["dynamodb"]["SequenceNumber"]}] if incomplete else []
        return {"batchItemFailures": first}
    if incomplete:
        raise RuntimeError(f"some records could not be archived: {dict(report.counts)}")
    return {name: report.counts[name] for name in ("RecordsArchived", "RecordsUnreadable", "ObjectsWritten")}
