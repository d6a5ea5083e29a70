"""Files of jobs: their text, and patience with the API.

- YAML that people write: what is text, and where its parts stand.
- A tenant's limit is waited for; nothing else is asked twice.
"""

from typing import Any

import pytest

from duecourse.cli.manifests.documents import job_of
from duecourse.cli.manifests.plan import PATIENCE_TRIES, patient
from duecourse.cli.manifests.yaml_text import NotYamlError, parse, to_yaml
from duecourse.client import ApiError, ConflictError, TooManyRequestsError
from duecourse.domain.workflows.graph import own_job


def test_manifests_job_of_a_step_has_the_id_that_the_api_gives_it() -> None:
    assert job_of("nightly", "extract", {"job": {}}) == own_job("nightly", "extract")


def value(text: str) -> Any:
    (found,) = parse(text)
    return found.value


@pytest.mark.parametrize(
    "text",
    ["on", "off", "yes", "no", "12:30", "2026-12-01", "2026-12-01T00:00:00Z", "010", "0x1f", "1e3", "1_000", ".5"],
)
def test_manifests_read_values_that_yaml_1_1_would_convert_as_text(text: str) -> None:
    assert value(f"a: {text}") == {"a": text}
    assert value(f"{text}: a") == {text: "a"}


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("null", None),
        ("~", None),
        ("", None),
        ("true", True),
        ("False", False),
        ("-7", -7),
        ("2.5", 2.5),
        ("1.0e+3", 1e3),
    ],
)
def test_manifests_read_null_booleans_and_numbers_as_in_json(text: str, means: object) -> None:
    found = value(f"a: {text}")["a"]
    assert (found, type(found)) == (means, type(means))


def test_manifests_read_names_as_text() -> None:
    assert value("404: x\ntrue: y\n") == {"404": "x", "true": "y"}


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: 1\nb: [\n", 3, "parsing"),
        ("a:\n  b: 1\n  b: 2\n", 3, "b occurs twice"),
        ("a: !mine x", 1, "!mine is not supported"),
        ("a: " + "9" * 2000, 1, "too large"),
        ("[1]: x", 1, "a name must be text"),
        ("a: \x07", 1, "not a printable character"),
        ("a: &x [*x]", 1, "nested too deeply"),
    ],
)
def test_manifests_report_unreadable_content_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(NotYamlError) as error:
        list(parse(text))
    assert (error.value.line, said in str(error.value)) == (line, True), str(error.value)


def nested(levels: int, leaf: str = "x") -> str:
    """Each line names the one before it ten times."""
    names = [f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]" for number in range(1, levels)]
    return "\n".join([f"a0: &a0 {leaf}", *names, ""])


@pytest.mark.parametrize("text", [nested(30), "id: y\nb: &b " + "x" * 5_000 + "\nc: [" + "*b, " * 1_000 + "]\n"])
def test_manifests_reject_aliases_that_expand_too_much(text: str) -> None:
    with pytest.raises(NotYamlError, match=r"its aliases \(\*name\) repeat more than 1000000 characters and values"):
        list(parse(text))


def test_manifests_expand_aliases() -> None:
    assert value(nested(3)) == {"a0": "x", "a1": ["x"] * 10, "a2": [["x"] * 10] * 10}


def test_manifests_may_be_large_without_aliases() -> None:
    assert value(f"a: {'x' * 1_500_000}") == {"a": "x" * 1_500_000}


def test_manifests_find_parts_by_their_pointers() -> None:
    (found,) = parse("id: x\ntarget:\n  url: y\nretry:\n  on:\n  - 5xx\n  - 429\na/b: 1\n")
    places = {"": 1, "target": 2, "target/url": 3, "retry/on/1": 7, "a~1b": 8, "target/none/deeper": 2}
    assert {pointer: found.line(pointer) for pointer in places} == places


def test_manifests_output_contains_no_control_characters_and_reads_back_unchanged() -> None:
    document = {"a": "\x1b[31m", "b": "\u202e", "c": ["on", "1", 1, None, True, 1.5, "x: y", "# z"], "5": {}}
    text = to_yaml([document])
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert value(text) == document


def refused(error: ApiError, times: int) -> tuple[list[float], object]:
    """What is waited for, and what becomes of a request that is refused so often."""
    waits: list[float] = []
    answers = iter([error] * times)

    def ask() -> str:
        found = next(answers, None)
        if found is not None:
            raise found
        return "done"

    try:
        return waits, patient(ask, waits.append)
    except ApiError as raised:
        return waits, raised


def test_manifests_client_waits_as_long_as_the_api_requests() -> None:
    assert refused(TooManyRequestsError(429, {}, 2.5), 2) == ([2.5, 2.5], "done")
    assert refused(TooManyRequestsError(429, {}), 1) == ([1.0], "done")


@pytest.mark.parametrize(
    ("error", "waits"), [(ConflictError(409, {}), 0), (TooManyRequestsError(429, {}, 1.0), PATIENCE_TRIES)]
)
def test_manifests_client_stops_retrying_at_its_limit_and_never_retries_other_errors(
    error: ApiError, waits: int
) -> None:
    waited, raised = refused(error, PATIENCE_TRIES + 1)
    assert (len(waited), raised) == (waits, error)
