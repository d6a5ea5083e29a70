"""Each drill runs commands that its page still has, and the page is a section of the documentation."""

import re

import pytest

from duecourse.cli.terminal import CliError
from scripts.drill import drills
from scripts.drill.drills import DRILLS, Drill
from scripts.drill.pages import DOCS, Commands, blocks

COMMANDS = {name: each for name, each in vars(drills).items() if isinstance(each, Commands)}
STARTS = {
    "STOP_ALL": "for RULE in $(rules); do aws events disable-rule",
    "START_ALL": "for UUID in $(sources); do aws lambda update-event-source-mapping",
    "STOP_API": "for function in ApiFunction CallbacksFunction; do",
    "RESTORE": "aws dynamodb restore-table-to-point-in-time",
    "COPY_BACK": "duecourse restore-table",
    "START_API": "aws lambda put-function-concurrency",
    "RESTORE_BESIDE": "aws dynamodb restore-table-to-point-in-time",
    "RESTORE_DELETED": "TABLE=$(output JobsTable)",
    "ENABLE_TTL": "aws dynamodb update-time-to-live",
    "LIST_ARCHIVE": "STREAM=",
    "NEW_STREAM": "aws lambda get-event-source-mapping",
    "BACKFILL": 'duecourse jobs backfill "$JOB"',
    "EMPTIED": "BUCKET=$(output ArchiveBucket)",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_drills_run_the_commands_that_their_page_has(name: str) -> None:
    assert COMMANDS[name].text().startswith(STARTS[name])


def test_drills_replace_the_examples_of_times_in_their_order() -> None:
    text = COMMANDS["BACKFILL"].text("2027-01-01T00:00:00Z", "2027-01-02T00:00:00Z")
    assert re.findall(r"--\w+ (\d\S+)", text)[:2] == ["2027-01-01T00:00:00Z", "2027-01-02T00:00:00Z"]


@pytest.mark.parametrize("drill", DRILLS, ids=[each.name for each in DRILLS])
def test_drills_refer_to_a_section_of_the_documentation(drill: Drill) -> None:
    page, _, anchor = drill.page.partition("#")
    headings = re.findall(r"^#+ (.*)$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert anchor in {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}


def test_drills_fail_if_a_page_has_lost_its_commands() -> None:
    with pytest.raises(CliError, match=r"operations.md has 0 blocks of commands below 'Nothing'"):
        Commands("operations.md", "Nothing").text()


def test_drills_read_only_the_blocks_below_their_heading() -> None:
    page = "## A\n```bash\none\n```\n1. text\n   ```bash\n   two\n     three\n   ```\n## B\n```bash\nfour\n```\n"
    assert blocks(page, "A") == ["one", "two\n  three"]
