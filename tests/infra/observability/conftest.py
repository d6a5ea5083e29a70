"""Stores for the tests of alarms.

Whether an alarm goes off usually depends on the reports of the use cases, and seldom on the writes of a store. Most
failures are therefore tested with stores in memory, which respond ten times as fast.
"""

import pytest

from duecourse.testing.stores import MemoryStores, Stores
from tests.support import in_process
from tests.support.tables import create_tables

ON_TABLES = {
    *("AuditsFailed", "AuditsWaiting", "ClaimsFailed", "CleanUpsFailed", "CursorsOutsideIndex", "CursorsQuarantined"),
    *(
        "CursorsFoundQuarantined",
        "DueWriteThrottles",
        "EntriesBelowWatermark",
        "JobsWriteThrottles",
        "RunsStuck",
        "StepsLost",
    ),
    *("OccurrencesDoubled", "OccurrencesLost", "RepairsFailed", "StatementsThrottled"),
}
"""Failures of a table, and failures that the audit or index repair finds in a table."""


@pytest.fixture
def tables(request: pytest.FixtureRequest) -> Stores:
    """New tables of MiniStack's DynamoDB, which responds within this process, or stores in memory."""
    case = request.node.callspec.params.get("name") if hasattr(request.node, "callspec") else None
    return create_tables(in_process.dynamodb()) if case in ON_TABLES else MemoryStores()
