"""What the API refuses, and what it says while a store is away.

- Requests that are refused before anything is read or written; each answer is a problem document.
- What is refused about runs before any store is asked.
- AWS that is too busy or out of reach: 503 with `retry-after`, and nothing that it said; its other faults stay 500.
"""

import base64
import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.api.problems import Problem
from duecourse.domain.runs.callbacks import CallbackToken
from duecourse.domain.runs.states import RunState
from duecourse.ports import AwsError, NoAnswerError, ServiceError
from duecourse.stores import run_item
from duecourse.stores.jobs import JobStore
from duecourse.stores.runs import RunStore
from duecourse.stores.tenants import TenantLimits
from duecourse.stores.tick_mark import TickMark
from tests.support.api import BODY, Answered, ApiClient, Untouchable, untouchable_client
from tests.support.api_events import REQUEST_ID, api_event, json_event
from tests.support.jobs import job
from tests.support.runs import run

BAD_LIMITS = ("0", "101", "-1", "1.0", "x", "", "1,2", "\N{ARABIC-INDIC DIGIT ONE}", "9" * 5000, "1e1", " 1")
BAD_CURSORS = ("", "x", "é", "====", "MWo6YQ==", "MWo6YS5i", "Mmo6YQ", "MXI6bmlnaHRseQ", "a" * 9000)


@pytest.fixture(scope="module")
def api() -> ApiClient:
    return untouchable_client()


def assert_problem(answer: Answered, status: int, kind: str) -> None:
    assert answer.status == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["x-request-id"] == REQUEST_ID
    problem = answer.json
    assert set(problem) == {"type", "title", "status", "detail", "errors", "request_id"}
    assert problem["type"] == f"/problems/{kind}"
    assert problem["status"] == status
    assert problem["request_id"] == REQUEST_ID
    assert problem["detail"].endswith(".")


def test_api_errors_problem_titles_do_not_depend_on_the_python_version() -> None:
    problems = [
        Problem(kind, "Details.").document(REQUEST_ID) for kind in ("body-too-large", "invalid-job", "unknown-job")
    ]
    assert [each["title"] for each in problems] == ["Content Too Large", "Unprocessable Content", "Not Found"]


def test_api_errors_health_check_does_not_read_the_job_store(api: ApiClient) -> None:
    answer = api.get("/v1/health")
    assert (answer.status, answer.json["status"]) == (200, "ok")
    assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    "path",
    ["/", "/v1", "/v1/", "/v2/jobs", "/v1/jobs/", "/v1/jobs/a/b", "/v1/jobs//runs", "/v1/jobs/a/runs/", "/v1/%00"],
)
def test_api_errors_unknown_path_returns_404_and_names_the_document_with_all_paths(api: ApiClient, path: str) -> None:
    answer = api.get(path)
    assert_problem(answer, 404, "unknown-path")
    assert answer.json["detail"] == "This path does not exist; GET /v1/openapi.json lists all paths."


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/v1/jobs", "GET, POST"),
        ("POST", "/v1/jobs/nightly", "DELETE, GET, PATCH, PUT"),
        ("POST", "/v1/jobs/nightly/runs", "GET"),
        ("POST", "/v1/health", "GET"),
        ("HEAD", "/v1/jobs", "GET, POST"),
        ("OPTIONS", "/v1/jobs", "GET, POST"),
    ],
)
def test_api_errors_unknown_method_returns_405_and_lists_the_allowed_ones(
    api: ApiClient, method: str, path: str, allow: str
) -> None:
    answer = api.send(api_event(method, path))
    assert_problem(answer, 405, "unknown-method")
    assert answer.headers["allow"] == allow


@pytest.mark.parametrize("job_id", ["a.b", "a b", "%zz", "%ff", "%00", "ä", "a" * 65, "..", "a%2Fb", "a#b", "<job_id>"])
@pytest.mark.parametrize("suffix", ["", "/runs"])
def test_api_errors_impossible_job_id_returns_404_without_a_read(api: ApiClient, job_id: str, suffix: str) -> None:
    assert api.get(f"/v1/jobs/{job_id}{suffix}").status == 404


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "json",
        "application/jsonx",
    ],
)
def test_api_errors_wrong_content_type_returns_415_and_names_the_correct_one(
    api: ApiClient, content_type: str | None
) -> None:
    answer = api.post_text("{}", content_type=content_type)
    assert_problem(answer, 415, "unsupported-content-type")
    assert "content-type: application/json" in answer.errors["content-type"]


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON;charset=UTF-8",
        'application/json; charset="utf-8"',
        "application/vnd.x+json",
    ],
)
def test_api_errors_json_content_type_is_accepted_in_every_spelling(api: ApiClient, content_type: str) -> None:
    assert api.post_text("{}", content_type=content_type).status == 422


def test_api_errors_header_names_are_case_insensitive(api: ApiClient) -> None:
    headers = {"Content-Type": "application/json"}
    assert api.post_text("{}", content_type=None, headers=headers).status == 422


@pytest.mark.parametrize("body", [None, ""])
def test_api_errors_missing_body_returns_400(api: ApiClient, body: str | None) -> None:
    answer = api.post_text(body)
    assert_problem(answer, 400, "malformed-body")
    assert "missing" in answer.json["detail"]


@pytest.mark.parametrize(
    "body", ["{", "{]", "NaN", '{"a":1,"a":1}', "[" * 100_000, "\ud800", "9" * 5000, "'a'", "\x00"]
)
def test_api_errors_invalid_json_returns_400(api: ApiClient, body: str) -> None:
    assert_problem(api.post_text(body), 400, "malformed-body")


def test_api_errors_base64_body_is_read(api: ApiClient) -> None:
    encoded = base64.b64encode(json.dumps(BODY | {"priority": "urgent"}).encode()).decode()
    assert list(api.post_text(encoded, is_base64=True).errors) == ["/priority"]


@pytest.mark.parametrize(
    "body", ["%%%", "e", "é", base64.b64encode(b"\xff{}").decode(), base64.b64encode(b"{").decode()]
)
def test_api_errors_base64_body_without_json_returns_400(api: ApiClient, body: str) -> None:
    assert_problem(api.post_text(body, is_base64=True), 400, "malformed-body")


@pytest.mark.parametrize("size", [256 * 1024 + 1, 5 * 1024 * 1024])
@pytest.mark.parametrize("is_base64", [False, True])
def test_api_errors_body_over_256_kib_returns_413(api: ApiClient, size: int, is_base64: bool) -> None:
    body = '"' + "x" * (size - 2) + '"'
    sent = base64.b64encode(body.encode()).decode() if is_base64 else body
    assert_problem(api.post_text(sent, is_base64=is_base64), 413, "body-too-large")


def test_api_errors_bad_fields_return_422_with_a_pointer_for_each(api: ApiClient) -> None:
    answer = api.post(BODY | {"priority": "urgent", "retry": {"max_attempts": 0}})
    assert_problem(answer, 422, "invalid-job")
    assert set(answer.errors) == {"/priority", "/retry/max_attempts"}


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs/nightly/runs"])
@pytest.mark.parametrize(
    ("name", "value"),
    [*(("limit", value) for value in BAD_LIMITS), *(("cursor", value) for value in BAD_CURSORS), ("limt", "5")],
)
def test_api_errors_bad_query_parameter_returns_400_and_is_named(
    api: ApiClient, path: str, name: str, value: str
) -> None:
    answer = api.get(path, **{name: value})
    assert_problem(answer, 400, "bad-parameter")
    assert list(answer.errors) == [name]


def test_api_errors_cursor_of_another_job_returns_400(api: ApiClient) -> None:
    cursor = base64.urlsafe_b64encode(b"1r:weekly.20261121T064700Z").decode().rstrip("=")
    assert "belongs to another job" in api.get("/v1/jobs/nightly/runs", cursor=cursor).errors["cursor"]


def test_api_errors_internal_error_returns_500_without_details_and_is_logged_with_the_request() -> None:
    api = untouchable_client()
    answer = api.get("/v1/jobs/nightly")
    assert_problem(answer, 500, "internal")
    assert "store" not in answer.text
    failed, line = api.log_lines
    assert failed["message"] == "request_failed"
    assert failed["request_id"] == REQUEST_ID
    assert "the store was asked to get" in failed["exception"]
    assert (line["action"], line["status"]) == ("request_failed", 500)


def test_api_errors_internal_error_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    untouchable_client().get("/v1/jobs/nightly")
    metric = json.loads(capsys.readouterr().out)
    assert metric["InternalErrors"] == [1.0]
    assert metric["function"] == "api"
    assert metric["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Duecourse/test"


def test_api_errors_ignored_attributes_of_records_are_counted(
    api: ApiClient, capsys: pytest.CaptureFixture[str]
) -> None:
    run_item.ignored()
    skipped = run_item.to_item(run(job(), RunState.SKIPPED, attempt=0))
    run_item.from_item(skipped | {"progress": {"N": "0.5"}})
    api.get("/v1/health")
    assert json.loads(capsys.readouterr().out)["AttributesIgnored"] == [1.0]


def test_api_errors_every_request_writes_one_log_entry() -> None:
    api = untouchable_client()
    api.get("/v1/health")
    api.post({})
    served, refused = api.log_lines
    assert (served["action"], served["status"], served["tenant"]) == ("health_asked", 200, "default")
    assert (refused["action"], refused["status"], refused["problem"]) == ("request_refused", 422, "invalid-job")
    assert served["request_id"] == refused["request_id"] == REQUEST_ID


def test_api_errors_event_of_a_named_stage_is_parsed(api: ApiClient) -> None:
    event = api_event("GET", "/beta/v1/health")
    event["requestContext"]["stage"] = "beta"
    assert api.send(event).status == 200


@given(st.text(st.characters(codec=None), max_size=300), st.booleans())
def test_api_errors_any_text_as_a_body_returns_4xx(body: str, is_base64: bool) -> None:
    assert untouchable_client().post_text(body, is_base64=is_base64).status in (400, 422)


@given(st.text(st.characters(codec="utf-8"), max_size=60), st.sampled_from(["GET", "DELETE", "POST", "PATCH"]))
def test_api_errors_any_other_path_returns_404(path: str, method: str) -> None:
    assert untouchable_client().send(json_event(method, f"/v1/elsewhere/{path}", {})).status == 404


@given(
    st.dictionaries(st.sampled_from(["limit", "cursor", "x"]), st.text(max_size=20).filter(lambda t: not t.isdigit()))
)
def test_api_errors_any_invalid_query_returns_400(query: dict[str, Any]) -> None:
    assert untouchable_client().get("/v1/jobs", **query).status == (400 if query else 500)


NAME = "steady.20261121T120000Z"
TOKEN = str(CallbackToken("default", 1, "s" * 16))


@pytest.mark.parametrize("action", ["heartbeat", "complete", "fail"])
@pytest.mark.parametrize(
    "token",
    [
        "",
        "dc1",
        "dc2.default.1." + "s" * 16,
        "dc1.default.0." + "s" * 16,
        "dc1.default.01." + "s" * 16,
        "dc1.default.1." + "s" * 9,
        "dc1.default.1." + "s" * 65,
        "dc1.de#ault.1." + "s" * 16,
        "dc1.default.1." + "s" * 16 + ".x",
        "dc1.default.\u0661." + "s" * 16,
        TOKEN + "\n" + TOKEN,
        TOKEN + ", " + TOKEN,
    ],
)
def test_api_errors_invalid_token_causes_no_read(action: str, token: str) -> None:
    answer = untouchable_client().post({"error": "x"}, f"/v1/runs/{NAME}/{action}", token=token)
    assert (answer.status, answer.json["type"]) == (401, "/problems/bad-token")


@pytest.mark.parametrize("action", ["heartbeat", "complete", "fail"])
def test_api_errors_token_of_an_impossible_run_causes_no_read(action: str) -> None:
    body: Any = {"error": "x"} if action == "fail" else {}
    assert untouchable_client().post(body, "/v1/runs/steady/" + action, token=TOKEN).status == 401


@pytest.mark.parametrize("action", ["cancel", "redrive"])
def test_api_errors_invalid_run_id_causes_no_read(action: str) -> None:
    assert untouchable_client().ask(f"/v1/runs/steady/{action}").status == 404


JOB = "/v1/jobs/nightly"


def said(code: str, status: int = 400) -> ServiceError:
    return ServiceError(code, "secret-table", status=status)


class Failing:
    """A store of any kind that fails at whatever it is asked."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *_: object, **__: object) -> None:
        raise self._error


def asked(error: Exception) -> Answered:
    return ApiClient(cast(JobStore, Failing(error)), cast(RunStore, Untouchable())).get(JOB)


def assert_told_to_come_again(answer: Answered) -> None:
    assert (answer.status, answer.json["type"]) == (503, "/problems/unavailable")
    assert int(answer.headers["retry-after"]) >= 1
    assert "secret" not in answer.text
    assert "internal" not in answer.text


@pytest.mark.parametrize(
    "error",
    [
        said("ProvisionedThroughputExceededException"),
        said("ThrottlingException"),
        said("RequestLimitExceeded"),
        said("TransactionConflictException"),
        said("InternalServerError", 500),
        said("ServiceUnavailable", 503),
        NoAnswerError("https://dynamodb.internal: timed out"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_api_errors_transient_store_error_returns_503(error: Exception) -> None:
    assert_told_to_come_again(asked(error))


@pytest.mark.parametrize(
    "error", [said("AccessDeniedException"), said("ResourceNotFoundException"), AwsError("NoCredentialsError")]
)
def test_api_errors_permanent_store_error_returns_500(error: Exception) -> None:
    answer = asked(error)
    assert (answer.status, answer.json["type"]) == (500, "/problems/internal")
    assert "retry-after" not in answer.headers


def test_api_errors_store_error_in_a_batch_is_returned_for_each_affected_job() -> None:
    api = ApiClient(cast(JobStore, Failing(said("ThrottlingException"))), cast(RunStore, Untouchable()))
    answer = api.post({"jobs": [BODY, BODY | {"schedule": "never"}]}, "/v1/jobs/batch")
    assert answer.status == 200
    assert [item["status"] for item in answer.json["items"]] == [503, 422]
    assert "secret" not in answer.text


def test_api_errors_request_is_rejected_when_its_rate_limit_cannot_be_updated() -> None:
    api = untouchable_client(counters=cast(TenantLimits, Failing(said("ThrottlingException"))))
    assert_told_to_come_again(api.get(JOB))


def test_api_errors_unreadable_health_returns_503() -> None:
    api = untouchable_client(mark=cast(TickMark, Failing(said("ThrottlingException"))))
    assert_told_to_come_again(api.get("/v1/health"))


def test_api_errors_unavailable_store_is_logged_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    api = untouchable_client(counters=cast(TenantLimits, Failing(said("ThrottlingException"))))
    api.get(JOB)
    failed, line = api.log_lines
    assert "secret-table" in failed["exception"]
    assert (line["action"], line["status"]) == ("request_failed", 503)
    assert "InternalErrors" in capsys.readouterr().out
