"""The jobs in docs/runs.md and docs/schedules.md are taken as they stand there."""

import json
import re
from typing import Any

import pytest

from tests.support.emulators import ROOT
from tests.support.posting import read

PAGES = "".join((ROOT / "docs" / page).read_text() for page in ("runs.md", "schedules.md"))
WRITTEN = re.findall(r"^```json\n(.*?)^```", PAGES, re.MULTILINE | re.DOTALL)
JOBS = [document for document in map(json.loads, WRITTEN) if "schedule" in document]


@pytest.mark.parametrize("job", JOBS, ids=[job["id"] for job in JOBS])
def test_documented_jobs_are_accepted(job: dict[str, Any]) -> None:
    assert read(job).id == job["id"]


def test_documented_jobs_cover_every_target_type() -> None:
    from duecourse.api.bodies.target_bodies import TARGET_BODIES

    kinds = {job["target"]["type"] if "target" in job else "task" for job in JOBS}
    assert kinds == set(TARGET_BODIES)
