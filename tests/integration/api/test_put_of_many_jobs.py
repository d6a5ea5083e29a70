"""A workflow of many jobs that exist is put by a few requests."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.wire.metered import Metered
from tests.integration.api.test_workflows_over_http import Desk
from tests.support.api import HTTP_TARGET
from tests.support.tables import Tables

HUNDREDS = 2
"""Those begun by 150 jobs."""


def test_a_put_takes_two_reads_and_a_transaction_for_each_hundred_jobs_that_exist(tables: Tables) -> None:
    metered = Metered(tables.client)
    desk = Desk(replace(tables, client=metered))
    names = [f"part-{number:03d}" for number in range(100 * HUNDREDS - 50)]
    for name in names:
        desk.api.post({"id": name, "schedule": None, "target": HTTP_TARGET})
    metered.clear()

    answer = desk.put({"schedule": None, "jobs": {name: {} for name in names}})

    assert answer.status == 201
    # The quota; whether the workflow is there, and the tenant's seats; the graph, again after the switch, since a late
    # request may have let it expire before.
    others = {"query": 1, "get_item": 3, "put_item": 2}
    own = 1  # its job and cursor are looked for before, and written at the end
    reads = 2 * HUNDREDS + own  # the jobs again after the switch: what another request freed is claimed anew
    assert metered.requests == {"batch_get_item": reads, "transact_write_items": HUNDREDS + own, **others}
