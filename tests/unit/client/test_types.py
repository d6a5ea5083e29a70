"""A type checker finds what the API would refuse."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.template import ROOT

PROGRAM = """
from datetime import UTC, datetime
from duecourse.client import AsyncClient, Client
from duecourse.client.bodies import JobRequest

client = Client("https://api.example")
client.find_runs(state="DEAD")
client.find_runs(state=["DEAD", "RETRYING"], since=datetime.now(UTC))
client.find_runs(state=("DEAD",))
client.find_runs(state="DAED")  # wrong: arg-type
client.find_runs(state=["DAED"])  # wrong: list-item
client.list_runs("nightly", state="SUCCEEDED,DEAD")  # wrong: arg-type
client.list_jobs(state="ACTIVE")
client.list_jobs(state="ACTVE")  # wrong: arg-type
client.rerun("nightly.20261121T020000Z", ["load"])
client.rerun("nightly.20261121T020000Z", "load")  # wrong: arg-type
job: JobRequest = {"schedule": None, "target": {"type": "http", "url": "https://a.example"}, "tags": ["billing"]}
client.create_job(job)
client.create_job({**job, "tags": ("billing",)})
client.create_job({**job, "tags": "billing"})  # wrong: typeddict-item
client.create_job({**job, "exclude": "2026-12-25"})  # wrong: typeddict-item
client.create_job({**job, "overlap": "quue"})  # wrong: typeddict-item
if client.get_run("nightly.20261121T020000Z").state == "SUCEEDED":  # wrong: comparison-overlap
    pass
if client.get_job("nightly").state == "PAUSED":
    pass


async def play(client: AsyncClient) -> None:
    await client.find_runs(state=["DEAD"])
    await client.find_runs(state="DAED")  # wrong: arg-type
"""


def test_a_misspelled_word_and_a_text_in_place_of_a_list_are_found(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    mypy = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--no-error-summary", program]
    told = subprocess.run(mypy, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    found = {int(line): code for line, code in re.findall(r"program\.py:(\d+): error: .*\[([a-z-]+)\]", told)}
    wanted = enumerate(PROGRAM.splitlines(), 1)
    assert found == {line: text.partition("# wrong: ")[2] for line, text in wanted if "# wrong" in text}, told
