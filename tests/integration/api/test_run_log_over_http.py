"""The log of a run: portions that a program sends with the run's token, and the pages that callers read."""

import pytest

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.logs import CLOSING_LINE, MAX_PORTION_BYTES
from duecourse.domain.runs.states import RunState
from duecourse.usecases.runs.logs import PORTIONS_OF_A_PAGE
from tests.support.api import ApiClient
from tests.support.callbacks import NAME, call, callback_job, recorded, stored
from tests.support.faulty import CountedStore
from tests.support.jobs import NOON
from tests.support.runs import TOKEN, run, waiting_run

LOG = f"/v1/runs/{NAME}/log"
FOLDER = "logs/default/steady/20261121T120000Z"


@pytest.fixture
def job(api: ApiClient) -> Job:
    return callback_job(api)


def append(api: ApiClient, text: str, number: int = 1, delivery: int = 1) -> bool:
    answer = call(api, "log", {"text": text, "number": number, "delivery": delivery})
    assert answer.status == 200, answer.text
    stored: bool = answer.json["stored"]
    return stored


def everything(api: ApiClient, **query: str) -> tuple[list[str], int]:
    """Return the texts of all pages, and the number of pages."""
    texts: list[str] = []
    pages = 0
    while True:
        page = api.get(LOG, **query).json
        texts += [each["text"] for each in page["texts"]]
        pages += 1
        if not page["more"]:
            return texts, pages
        query["after"] = page["after"]


def test_run_log_portion_is_stored_and_read_without_a_write_to_the_tables(api: ApiClient, job: Job) -> None:
    record = recorded(api, waiting_run(job))
    asked: list[str] = []
    counted = ApiClient(api.jobs, CountedStore(api.runs, asked), api.clock)
    counted.logs.portions_by_key = api.logs.portions_by_key
    assert append(counted, "3 of 7 sent\n")
    assert (asked, stored(api)) == (["get"], record)
    assert api.get(LOG).json == {
        "texts": [
            {"attempt": 2, "source": "work", "written_at": "2026-11-21T12:00:00.000Z", "text": "3 of 7 sent\n"},
        ],
        "after": "2:work.1.1.12",
        "more": False,
        "open": True,
    }
    assert api.wheel.sent == []


def test_run_log_without_portions_is_empty(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert api.get(LOG).json == {"texts": [], "after": None, "more": False, "open": True}
    assert api.get("/v1/runs/steady.20261121T130000Z/log").status == 404


def test_run_log_portion_that_is_sent_again_replaces_itself(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    for text in ("one\n", "one\n", "one\ntwo\n"):
        append(api, text)
    append(api, "three\n", 2)
    assert everything(api) == (["one\ntwo\n", "three\n"], 1)
    assert api.logs.portions_by_key.keys() == {
        f"{FOLDER}/000000002/work-01-001.txt",
        f"{FOLDER}/000000002/work-01-002.txt",
    }


def test_run_log_is_followed_from_the_position_of_the_last_page(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    append(api, "one \N{SNOWMAN}\n")
    first = api.get(LOG).json
    same = api.get(LOG, after=first["after"]).json
    assert (same["texts"], same["after"]) == ([], first["after"])
    append(api, "one \N{SNOWMAN}\ntwo\n")
    append(api, "three\n", 2)
    new = api.get(LOG, after=first["after"]).json
    assert [each["text"] for each in new["texts"]] == ["two\n", "three\n"]
    append(api, "again one\n", 1, delivery=2)
    newest = api.get(LOG, after=new["after"]).json
    assert [each["text"] for each in newest["texts"]] == ["again one\n"]


def test_run_log_is_read_in_bounded_pages(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    for number in range(1, 10):
        append(api, f"{number}\n", number)
    assert PORTIONS_OF_A_PAGE == 4
    assert everything(api) == ([f"{number}\n" for number in range(1, 10)], 3)


def test_run_log_of_one_attempt_is_read_alone(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    append(api, "second\n")
    api.logs.write_portion(f"{FOLDER}/000000001/call-01-001.txt", b"first\n")
    assert everything(api) == (["first\n", "second\n"], 1)
    assert everything(api, attempt="1") == (["first\n"], 1)
    assert everything(api, attempt="2") == (["second\n"], 1)
    assert everything(api, attempt="3") == ([], 1)
    assert [api.get(LOG, attempt=number).json["open"] for number in "12"] == [True, True]
    api.clock.advance(120)
    assert [api.get(LOG, attempt=number).json["open"] for number in "12"] == [False, True]


def test_run_log_has_ended_half_a_minute_after_its_run(api: ApiClient, job: Job) -> None:
    recorded(api, run(job, RunState.SUCCEEDED))
    api.clock.set(NOON + 12.5 + 29.9)
    assert api.get(LOG).json["open"] is True
    api.clock.set(NOON + 12.5 + 30)
    assert api.get(LOG).json["open"] is False


def test_run_log_beyond_the_limit_is_refused_and_the_log_says_so(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert append(api, "the last one\n", 100)
    assert not append(api, "too much\n", 101)
    key = f"{FOLDER}/000000002/work-01-101.txt"
    del api.logs.portions_by_key[key]
    assert not append(api, "too much\n", 102)
    assert key not in api.logs.portions_by_key, "each further request would cost a request of S3"
    assert not append(api, "too much\n", 101)
    assert everything(api) == (["the last one\n", CLOSING_LINE], 1)


def test_run_log_portion_has_at_most_64_kilobytes(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    assert append(api, "é" * (MAX_PORTION_BYTES // 2))
    refused = call(api, "log", {"text": "é" * (MAX_PORTION_BYTES // 2) + "x"})
    assert refused.errors == {"/text": "has 65537 bytes; at most 65536 are allowed: send the rest as the next portion"}
    assert call(api, "log", {"text": ""}).status == 422
    assert call(api, "log", {"text": "x", "number": 0}).status == 422
    assert call(api, "log", {"text": "x", "delivery": 11}).status == 422


def test_run_log_does_not_contain_the_token_of_the_run(api: ApiClient, job: Job) -> None:
    recorded(api, waiting_run(job))
    append(api, f"curl -H 'Authorization: Bearer {TOKEN}'\n")
    assert everything(api) == ([f"curl -H 'Authorization: Bearer {'*' * len(str(TOKEN))}'\n"], 1)


def test_run_log_that_the_store_refuses_is_answered_with_an_error_and_changes_no_run(api: ApiClient, job: Job) -> None:
    record = recorded(api, waiting_run(job))
    api.logs.refuses = True
    assert call(api, "log").status >= 500
    assert stored(api) == record
    api.logs.refuses = False
    assert call(api, "log").status == 200


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("attempt=0", "must be the number of an attempt"),
        ("attempt=x", "must be the number of an attempt"),
        ("after=x", "must be the value of after of the previous response"),
        ("after=1:work.1.1.5/../../other", "must be the value of after"),
        ("cursor=x", "is not known"),
    ],
)
def test_run_log_invalid_parameter_is_refused_with_the_remedy(
    api: ApiClient, job: Job, query: str, detail: str
) -> None:
    recorded(api, waiting_run(job))
    name, _, value = query.partition("=")
    answer = api.get(LOG, **{name: value})
    assert answer.status == 400
    assert detail in answer.json["detail"]
