"""Jobs that this release cannot read."""

from duecourse.stores.keys import JOB, job_key
from duecourse.stores.table import Set, Table, Update
from tests.support.tables import Tables

NEWER = '{"schedule": {}, "target": {"type": "quantum"}}'
"""A definition with a target that this release does not know."""


def write_by_a_newer_release(tables: Tables, job_id: str) -> None:
    """Give the job a definition of a newer release."""
    assert tables.both().write(Update(Table.JOBS, job_key("default", job_id, JOB), (Set("definition", NEWER),))).held
