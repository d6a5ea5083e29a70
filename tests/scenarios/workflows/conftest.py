"""A world with a workflow."""

import pytest

from tests.support.tables import Tables
from tests.support.workflow_world import WorkflowWorld


@pytest.fixture
def world(tables: Tables) -> WorkflowWorld:
    return WorkflowWorld(tables)
