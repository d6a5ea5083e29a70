"""A command for something that does not exist fails. It does not report that nothing was to do."""

from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from duecourse.cli.main import main
from tests.support.api_events import jwt_caller
from tests.support.served_api import ServedApi, served_api
from tests.support.unchanged import CALLERS, Office

COMMANDS = (
    "dead-letters list --job nope",
    "dead-letters redrive --job nope --yes",
    "dead-letters redrive --job nope --dry-run",
    "dead-letters redrive --tag nope --yes",
    "dead-letters redrive --tag nope --dry-run",
    "dead-letters redrive --tag nope",
    "explain nope",
    "jobs backfill nope --from 2026-11-20T12:00:00Z --to 2026-11-21T12:00:00Z --yes",
    "jobs delete nope --yes",
    "jobs export nope",
    "jobs export --tag nope",
    "jobs history nope",
    "jobs patch --tag nope --set name=x --yes",
    "jobs pause nope",
    "jobs pause daily nope",
    "jobs pause --tag nope --yes",
    "jobs resume --tag nope",
    "jobs skip-next nope",
    "jobs test-notice nope",
    "keys delete nope --yes",
    "limits delete nope --yes",
    "next @daily --calendar nope",
    "runs cancel --job nope --yes",
    "runs cancel --tag nope --yes",
    "runs cancel --tag nope --dry-run",
    "runs cancel --tag nope",
    "runs list nope",
    "runs tail nope",
    "workflows runs nope",
    "workflows show nope",
)


@pytest.fixture(scope="module")
def api() -> Iterator[ServedApi]:
    office = Office().filled()
    office.api.caller = jwt_caller("default", *CALLERS["everything"])
    with served_api(office.api) as served:
        yield served


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        ("jobs get dail", 'There is no job "dail". Did you mean daily?'),
        ("runs list diaily", 'There is no job "diaily". Did you mean daily?'),
        ("workflows show chian", 'There is no workflow "chian". Did you mean chain?'),
        ("runs show daily.20200101T000000Z", "See duecourse runs list daily"),
        ("jobs get zzz", 'There is no job "zzz".'),
    ],
)
def test_unknown_ids_are_answered_with_similar_ones(api: ServedApi, command: str, remedy: str) -> None:
    env = {"DUECOURSE_API": api.address, "DUECOURSE_TOKEN": None}
    assert CliRunner(env=env).invoke(main, command.split()).stderr.endswith(f"{remedy}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_ids_make_a_command_fail(api: ServedApi, command: str) -> None:
    env = {"DUECOURSE_API": api.address, "DUECOURSE_TOKEN": None}
    result = CliRunner(env=env).invoke(main, command.split(), input="y\n")
    assert result.exit_code == 1, result.output
    assert "nope" in result.stderr or "no jobs match" in result.stderr
