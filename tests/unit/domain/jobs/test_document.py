"""The document of a job's definition, and back."""

import pytest

from duecourse.domain.jobs.document import definition_document, definition_fields
from duecourse_schedules.schedule import joined
from tests.support.jobs import job


@pytest.mark.parametrize("schedule", [["0 9 * * 1-5", "0 11 * * 6"], "0 9 * * 1", None])
def test_job_documents_have_a_schedule_as_it_was_written(schedule: str | list[str] | None) -> None:
    document = definition_document(job(joined(schedule)))
    assert document["schedule"] == schedule
    assert definition_fields(document)["schedule"].expression == joined(schedule)
