"""The formats of all commands (`-o`): which command has which, and what lists print page by page."""

import json
import threading
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import click
import pytest
import yaml

from duecourse.cli.main import main
from tests.unit.cli.served import JOB, RUN, duecourse, served, started

FORMATS = ["table", "wide", "name", "json", "yaml"]

NO_IDS = "the document is about counts or a single answer, without ids"
WITHOUT_NAMES = {
    "accounts create": "prints the variables of a program",
    "dead-letters discard": NO_IDS,
    "dead-letters redrive": NO_IDS,
    "deploy": NO_IDS,
    "doctor": NO_IDS,
    "explain": NO_IDS,
    "failover": NO_IDS,
    "health": NO_IDS,
    "jobs backfill": NO_IDS,
    "jobs pause": NO_IDS,
    "jobs resume": NO_IDS,
    "jobs test-notice": NO_IDS,
    "rehearse": NO_IDS,
    "runs cancel": NO_IDS,
    "simulate": NO_IDS,
    "stats": NO_IDS,
    "upcoming": NO_IDS,
}

CONFIRMS = "prints one sentence, that it is done"
FOLLOWS = "runs until it is stopped, and prints what it does"
WITHOUT_FORMATS = {
    "accounts delete": CONFIRMS,
    "alarms test": "prints what CloudWatch did, in its own words",
    "calendars delete": CONFIRMS,
    "completion": "prints a script",
    "demo": FOLLOWS,
    "import celery": "-o is the folder of the documents; has --json",
    "import crontab": "-o is the folder of the documents; has --json",
    "import eventbridge": "-o is the folder of the documents; has --json",
    "import kubernetes": "-o is the folder of the documents; has --json",
    "import systemd": "-o is the folder of the documents; has --json",
    "jobs edit": "opens an editor",
    "keys delete": CONFIRMS,
    "limits delete": CONFIRMS,
    "local": FOLLOWS,
    "local logs": "prints the lines of logs",
    "local token": "prints a token",
    "login": "asks a person",
    "logout": CONFIRMS,
    "mcp": "speaks a protocol of its own",
    "profile add": CONFIRMS,
    "profile remove": CONFIRMS,
    "profile use": CONFIRMS,
    "restore-table": CONFIRMS,
    "secrets delete": CONFIRMS,
    "secrets put": CONFIRMS,
    "work": FOLLOWS,
    "workflows delete": CONFIRMS,
}


def commands(group: click.Command = main, path: str = "") -> Iterator[tuple[str, click.Command]]:
    if not isinstance(group, click.Group) or group.invoke_without_command:
        yield path, group
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            found = group.get_command(context, name)
            assert found is not None
            yield from commands(found, f"{path} {name}".strip())


def options(command: click.Command) -> Mapping[str, click.Parameter]:
    return {flag: each for each in command.params if isinstance(each, click.Option) for flag in each.opts}


def test_formats_every_command_has_the_same_or_a_reason() -> None:
    for path, command in commands():
        found = options(command)
        if path in WITHOUT_FORMATS:
            assert not isinstance(found["-o"].type if "-o" in found else None, click.Choice), path
            continue
        wanted = [each for each in FORMATS if each != "name" or path not in WITHOUT_NAMES]
        assert isinstance(found["-o"].type, click.Choice), path
        assert list(found["-o"].type.choices) == wanted, path
        assert "--json" in found, path


def test_formats_reasons_are_of_commands_that_exist() -> None:
    assert {*WITHOUT_NAMES, *WITHOUT_FORMATS} <= {path for path, _ in commands()}


def page(_path: str, query: Mapping[str, str]) -> object:
    """Three pages of two jobs."""
    number = int(query.get("cursor", "1"))
    items = [{**JOB, "id": f"job-{number}-{each}", "name": "Zürich \x85 \u2028 [x]", "tags": []} for each in "ab"]
    total = {"matching": 6, "searched": 9, "complete": True} if query.get("total") else None
    return {
        "items": items,
        "next_cursor": str(number + 1) if number < 3 else None,
        **({"total": total} if total else {}),
    }


@pytest.mark.parametrize("kind", ["json", "yaml"])
@pytest.mark.parametrize("arguments", [(), ("--search", "job")])
def test_formats_of_pages_are_one_document(kind: str, arguments: tuple[str, ...]) -> None:
    with served(page) as api:
        printed = duecourse(api, "jobs", "list", *arguments, "-o", kind).stdout
    found = json.loads(printed) if kind == "json" else yaml.safe_load(printed)
    assert [each["id"] for each in found["items"]] == [f"job-{number}-{each}" for number in (1, 2, 3) for each in "ab"]
    assert found["next_cursor"] is None
    assert found.get("total") == ({"matching": 6, "searched": 9, "complete": True} if arguments else None)
    if kind == "json":
        assert (
            printed
            == json.dumps(found, indent=2, ensure_ascii=False).replace("\x85", "\\u0085").replace("\u2028", "\\u2028")
            + "\n"
        )


@pytest.mark.parametrize(
    ("kind", "printed"),
    [
        ("json", '{\n  "items": [],\n  "next_cursor": null\n}\n'),
        ("yaml", "items: []\nnext_cursor: null\n"),
        ("name", ""),
    ],
)
def test_formats_of_no_pages_are_an_empty_list(kind: str, printed: str) -> None:
    with served(lambda *_: {"items": [], "next_cursor": None}) as api:
        assert duecourse(api, "jobs", "list", "-o", kind).stdout == printed


@pytest.mark.parametrize("kind", ["table", "wide", "name", "json", "yaml"])
def test_formats_print_a_page_before_the_next_is_read(kind: str) -> None:
    may_go_on = threading.Event()

    def answer(path: str, query: Mapping[str, str]) -> object:
        assert "cursor" not in query or may_go_on.wait(30)
        return page(path, query)

    with served(answer) as api, started(api, "jobs", "list", "-o", kind) as process:
        assert process.stdout is not None
        while "job-1-b" not in process.stdout.readline():
            pass
        may_go_on.set()
        rest = process.stdout.read()
        process.wait(30)
    assert process.returncode == 0
    assert "job-3-b" in rest


def test_formats_a_closed_pipe_stops_a_json_list_after_a_page() -> None:
    asked = list[str]()
    may_go_on = threading.Event()

    def answer(path: str, query: Mapping[str, str]) -> object:
        asked.append(query.get("cursor", "1"))
        assert "cursor" not in query or may_go_on.wait(30)
        return page(path, query)

    with served(answer) as api, started(api, "jobs", "list", "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "{\n"
        process.stdout.close()
        may_go_on.set()
        assert process.wait(30) == 1
        errors = process.stderr.read()
    assert (errors, len(asked) < 3) == ("", True)


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        ("jobs get nightly", "nightly\n"),
        ("jobs pause nightly", None),
        ("runs show nightly.20261121T030000Z", f"{RUN['id']}\n"),
        ("runs redrive nightly.20261121T030000Z", None),
        ("next @daily --after 2026-01-01T00:00:00Z --count 2", "2026-01-02T00:00:00Z\n2026-01-03T00:00:00Z\n"),
        ("fields overlap.queue", None),
    ],
)
def test_formats_name_prints_only_ids(arguments: str, printed: str | None) -> None:
    def answer(path: str, _query: Mapping[str, str]) -> object:
        return JOB if path == "/v1/jobs/nightly" else {"run": RUN, "accepted": "redrive"} if "redrive" in path else RUN

    with served(answer) as api:
        result = duecourse(api, *arguments.split(), "-o", "name")
    if printed is not None:
        assert (result.exit_code, result.stdout) == (0, printed), result.output


NO_TABLE = MappingProxyType({"DUECOURSE_API": "http://127.0.0.1:9"})


def test_formats_of_next_are_those_of_json() -> None:
    as_json = duecourse("", "next", "@daily", "-o", "json").stdout
    assert yaml.safe_load(duecourse("", "next", "@daily", "-o", "yaml").stdout) == json.loads(as_json)
    assert as_json == duecourse("", "next", "@daily", "--json").stdout


def test_formats_of_a_page_keep_the_options_in_the_command_for_the_next() -> None:
    with served(lambda *_: {"items": [], "next_cursor": "c"}) as api:
        for arguments in (["limits", "list"], ["calendars", "list"], ["workflows", "list"], ["runs", "list"]):
            result = duecourse(api, *arguments, "--limit", "1", "-o", "wide")
            assert result.exit_code == 0, result.output
            more = result.stdout.splitlines()[-1]
            assert more.startswith(f"more: duecourse {' '.join(arguments)} "), result.output
            assert {"--limit 1", "--output wide", "--cursor c"} <= {
                f"{flag} {value}" for flag, value in zip(more.split(), more.split()[1:], strict=False)
            }
