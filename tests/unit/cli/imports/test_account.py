"""Schedules that are read from the account itself."""

from __future__ import annotations

from collections.abc import Mapping

from click.testing import CliRunner, Result

from duecourse.cli.main import main
from tests.unit.cli.imports.test_eventbridge import SCHEDULE
from tests.unit.cli.served import served

PAGES = {None: ("nightly", "more"), "more": ("weekly", None)}


def account(path: str, query: Mapping[str, str]) -> object:
    """EventBridge Scheduler with two schedules, each on a page of its own."""
    if path == "/schedules":
        name, following = PAGES[query.get("NextToken")]
        assert query.get("ScheduleGroup", "billing") == "billing"
        found = {"Schedules": [{"Name": name, "GroupName": "default"}]}
        return found | ({"NextToken": following} if following else {})
    assert query == {"groupName": "default"}
    return SCHEDULE | {"Name": path.removeprefix("/schedules/"), "StartDate": 1_900_000_000}


def imported(endpoint: str, *options: str) -> Result:
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "eu-central-1"}
    keys["AWS_MAX_ATTEMPTS"] = "1"
    return CliRunner(env={"AWS_ENDPOINT_URL": endpoint, **keys}).invoke(main, ["import", "eventbridge", *options])


def test_every_schedule_of_the_account_is_read() -> None:
    with served(account) as endpoint:
        result = imported(endpoint, "--group", "billing")

    assert result.exit_code == 0, result.output
    assert "job nightly: cron(0 2 * * ? *)" in result.stderr
    assert "job weekly: " in result.stderr
    assert "start: '2030-03-17T17:46:40Z'" in result.stdout


def test_an_account_that_does_not_answer_is_one_line() -> None:
    result = imported("http://127.0.0.1:1")

    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
