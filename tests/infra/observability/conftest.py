"""Whether an alarm goes off depends on what the use cases report, seldom on how a store writes: most failures happen
over the stores in memory, which answer ten times as fast.
"""

import pytest

from duecourse.testing.memory.tables import MemoryTables
from tests.support import in_process
from tests.support.tables import Stores, create_tables

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
"""Failures of a table, and those that the audit or index repair finds in one."""


@pytest.fixture
def tables(request: pytest.FixtureRequest) -> Stores:
    """Fresh tables of MiniStack's DynamoDB, which answers within this process, or stores in memory."""
    case = request.node.callspec.params.get("name") if hasattr(request.node, "callspec") else None
    return create_tables(in_process.dynamodb()) if case in ON_TABLES else MemoryTables()
