"""The command with an API that uses real tables."""

from collections.abc import Callable, Iterator
from io import BytesIO

import pytest
from click.testing import CliRunner, Result

from duecourse.cli.main import main
from tests.integration.api.test_workflows_over_http import Desk
from tests.support.served_api import ServedApi, served_api
from tests.support.tables import Tables

Run = Callable[..., Result]


@pytest.fixture
def desk(tables: Tables) -> Desk:
    return Desk(tables)


@pytest.fixture
def api(desk: Desk) -> Iterator[ServedApi]:
    with served_api(desk.api) as found:
        yield found


@pytest.fixture
def run(api: ServedApi) -> Run:
    """A function that runs the command with arguments; `text` is its standard input."""

    def command(*arguments: str, text: str | BytesIO | None = None, **environment: str) -> Result:
        env = {"DUECOURSE_API": api.address, "DUECOURSE_TOKEN": None, **environment}
        return CliRunner(env=env).invoke(main, arguments, input=text)

    return command
