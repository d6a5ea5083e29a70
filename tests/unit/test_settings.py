"""The environment is read whole or refused with everything that is wrong in it."""

import re
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from duecourse.domain.jobs.job import Lane, Precision
from duecourse.domain.targets.oidc import OidcIssuer
from duecourse.settings import (
    AllowedTargets,
    ApiSettings,
    AuditSettings,
    DispatchSettings,
    ExecuteSettings,
    ReconcilerSettings,
    RepairSettings,
    SettingsError,
    TickSettings,
)

QUEUES = {f"DUECOURSE_QUEUE_URL_{lane.name}": f"https://sqs.example/{lane}" for lane in Lane} | {
    f"DUECOURSE_BULK_URL_{lane.name}": f"https://sqs.example/{lane}-bulk" for lane in Lane
}
TICK = {
    "DUECOURSE_STAGE": "dev",
    "DUECOURSE_JOBS_TABLE": "jobs",
    "DUECOURSE_SHARDS": "16",
    "DUECOURSE_LOOKAHEAD_SECONDS": "300",
    "DUECOURSE_SHARD_QUEUE_URL": "https://sqs.example/shards.fifo",
    "DUECOURSE_LETTERS_URLS": "https://sqs.example/archive https://sqs.example/events",
    "DUECOURSE_ARCHIVE_SOURCE": "91eaeb7e-c976-1234-9451-8709db01f137",
    "DUECOURSE_ACCOUNT_CONCURRENCY": "1000",
    "DUECOURSE_PING_URL": "none",
    "DUECOURSE_PRIVATE_TARGETS": "refuse",
    "DUECOURSE_CALLBACK_URL": "https://sqs.example/callbacks",
} | QUEUES
DISPATCH = {
    "DUECOURSE_STAGE": "dev",
    "DUECOURSE_JOBS_TABLE": "jobs",
    "DUECOURSE_RUNS_TABLE": "runs",
    "DUECOURSE_SHARDS": "16",
    "DUECOURSE_RUN_INDEX_PARTITIONS": "8",
    "DUECOURSE_LIST_SUCCESSES": "true",
    "DUECOURSE_LOOKAHEAD_SECONDS": "300",
    "DUECOURSE_HORIZON_SECONDS": "840",
    "DUECOURSE_RUN_RETENTION_DAYS": "90",
    "DUECOURSE_BUS_NAME": "duecourse",
} | QUEUES
EXECUTE = {
    "DUECOURSE_STAGE": "dev",
    "DUECOURSE_LANE": "high",
    "DUECOURSE_JOBS_TABLE": "jobs",
    "DUECOURSE_RUNS_TABLE": "runs",
    "DUECOURSE_RUN_RETENTION_DAYS": "90",
    "DUECOURSE_LOOKAHEAD_SECONDS": "300",
    "DUECOURSE_HORIZON_SECONDS": "840",
    "DUECOURSE_REQUESTS_PER_SECOND": "20",
    "DUECOURSE_BURST": "40",
    "DUECOURSE_QUEUE_URL": "https://sqs.example/high",
    "DUECOURSE_BULK_URL": "https://sqs.example/high-bulk",
    "DUECOURSE_CALLBACK_URL": "https://sqs.example/callbacks",
    "DUECOURSE_AUDIT_FUNCTION": "duecourse-audit",
    "DUECOURSE_DEATHS_TOPIC_ARN": "arn:aws:sns:us-east-1:000000000000:deaths",
    "DUECOURSE_MAX_RECEIVE_COUNT": "5",
    "DUECOURSE_FAILED_SHARE": "0.4",
    "DUECOURSE_PRIVATE_TARGETS": "refuse",
    "DUECOURSE_SHARDS": "16",
    "DUECOURSE_RUN_INDEX_PARTITIONS": "8",
    "DUECOURSE_LIST_SUCCESSES": "true",
    "DUECOURSE_BUS_NAME": "duecourse",
    "DUECOURSE_RESULTS_BUCKET": "results",
    "DUECOURSE_RESULT_BUCKETS": '{"reports":{"acme":"daily/"}}',
    "DUECOURSE_OIDC": "https://jobs.example key-1 key-2",
    "DUECOURSE_ACCOUNT": "000000000000",
    "DUECOURSE_PARTITION": "aws",
    "DUECOURSE_REGION": "us-east-1",
    "DUECOURSE_SECRET_STORE": "parameters",
    "DUECOURSE_ALLOWED_TARGETS": '{"actions": ["ecs:UpdateService"]}',
} | QUEUES
SEATS = {f"DUECOURSE_SEAT_{lane.name}": str(seats) for lane, seats in zip(Lane, (30, 30, 6, 15), strict=True)}
API = {name: value for name, value in DISPATCH.items() if name != "DUECOURSE_BUS_NAME"} | {
    "DUECOURSE_DEFAULT_PRECISION": "exact",
    "DUECOURSE_PRIVATE_TARGETS": "allow",
    "DUECOURSE_ALLOWED_TARGETS": '{"functions": ["duecourse-target-*", "reports"], "actions": ["ecs:UpdateService"]}',
    "DUECOURSE_RESULTS_BUCKET": "results",
    "DUECOURSE_RESULT_BUCKETS": '{"reports":{"acme":"daily/"}}',
    "DUECOURSE_OIDC": "https://jobs.example key-1 key-2",
    "DUECOURSE_REGION": "us-east-1",
    "DUECOURSE_AUTH": "jwt",
    "DUECOURSE_TENANT_CLAIM": "tenant",
    "DUECOURSE_JOB_QUOTA": "10000",
    "DUECOURSE_REQUESTS_PER_SECOND": "50",
    "DUECOURSE_BURST": "100",
    "DUECOURSE_SMALLEST_INTERVAL_SECONDS": "10",
    "DUECOURSE_BACKFILL_LIMIT": "1000",
    "DUECOURSE_DELAYED_RUNS_PER_HOUR": "1000",
    "DUECOURSE_OPERATOR_TENANT": "platform",
    **SEATS,
}
RECONCILE = {
    "DUECOURSE_STAGE": "dev",
    "DUECOURSE_JOBS_TABLE": "jobs",
    "DUECOURSE_RUNS_TABLE": "runs",
    "DUECOURSE_RUN_RETENTION_DAYS": "90",
    "DUECOURSE_SHARDS": "16",
    "DUECOURSE_RUN_INDEX_PARTITIONS": "8",
    "DUECOURSE_LIST_SUCCESSES": "true",
    "DUECOURSE_DEAD_LETTER_QUEUE_URL": "https://sqs.example/dead",
    "DUECOURSE_DEATHS_TOPIC_ARN": "arn:aws:sns:us-east-1:000000000000:deaths",
    "DUECOURSE_BUS_NAME": "duecourse",
    "DUECOURSE_RESULTS_BUCKET": "results",
} | QUEUES
REPAIR = {name: value for name, value in DISPATCH.items() if name != "DUECOURSE_BUS_NAME"} | {
    "DUECOURSE_REPAIR_HOURS": "24",
    "DUECOURSE_COMPLETED_JOB_RETENTION_DAYS": "90",
    "DUECOURSE_OPERATOR_TENANT": "*",
    **SEATS,
}
AUDIT = {name: value for name, value in DISPATCH.items() if name != "DUECOURSE_BUS_NAME"} | {
    "DUECOURSE_AUDIT_SEGMENTS": "6",
    "DUECOURSE_REQUESTS_PER_SECOND": "20",
    "DUECOURSE_BURST": "40",
}
ALL: list[tuple[Any, dict[str, str]]] = [
    (TickSettings, TICK), (DispatchSettings, DISPATCH), (ExecuteSettings, EXECUTE), (ApiSettings, API),
    (ReconcilerSettings, RECONCILE), (RepairSettings, REPAIR), (AuditSettings, AUDIT),
]  # fmt: skip
each = pytest.mark.parametrize(("settings", "environ"), ALL, ids=[settings.__name__ for settings, _ in ALL])


def refusal(settings: Any, environ: dict[str, str]) -> str:
    with pytest.raises(SettingsError) as caught:
        settings.from_env(environ)
    return str(caught.value)


def test_settings_of_the_dispatcher_are_read_from_the_environment() -> None:
    read = DispatchSettings.from_env(DISPATCH)
    assert (read.stage, read.jobs_table, read.runs_table, read.shards) == ("dev", "jobs", "runs", 16)
    assert (read.lookahead_seconds, read.horizon_seconds, read.run_retention_days) == (300, 840, 90)
    assert read.queue_urls == {lane: f"https://sqs.example/{lane}" for lane in Lane}
    assert read.bulk_urls == {lane: f"https://sqs.example/{lane}-bulk" for lane in Lane}


PRESCALE = (
    '{"dollars_per_day": 15, "table_quota": 40000, "spare": 300, "list_successes": true, "runs_table": "runs",'
    ' "queues": {"normal": {"source": "a", "concurrent": 100, "batch": 10}}}'
)


def test_settings_of_the_tick_have_rules_for_peaks_only_if_the_stage_has_them() -> None:
    assert TickSettings.from_env(TICK).prescale is None
    assert TickSettings.from_env(TICK | {"DUECOURSE_PRESCALE": PRESCALE}).prescale == PRESCALE
    wrong = refusal(TickSettings, TICK | {"DUECOURSE_PRESCALE": "{}"})
    assert "must be a JSON object with dollars_per_day and queues" in wrong


def test_settings_of_a_worker_are_read_from_the_environment() -> None:
    read = ExecuteSettings.from_env(EXECUTE)
    assert (read.lane, read.max_receive_count, read.private_targets) == (Lane.HIGH, 5, "refuse")
    assert read.queue_url == "https://sqs.example/high"


def test_settings_of_the_api_are_read_from_the_environment() -> None:
    read = ApiSettings.from_env(API)
    assert read.default_precision is Precision.EXACT
    functions = ("duecourse-target-*", "reports")
    assert read.allowed_targets == AllowedTargets(functions=functions, actions=("ecs:UpdateService",))


def test_settings_of_a_worker_include_the_allowed_targets() -> None:
    assert ExecuteSettings.from_env(EXECUTE).allowed_targets == AllowedTargets(actions=("ecs:UpdateService",))
    public = EXECUTE | {"DUECOURSE_ALLOWED_TARGETS": '{"public_ip": true, "subnets": ["*"]}'}
    assert ExecuteSettings.from_env(public).allowed_targets == AllowedTargets(public_ip=True, subnets=("*",))


def test_settings_allow_no_targets_that_are_omitted() -> None:
    assert ApiSettings.from_env(API | {"DUECOURSE_ALLOWED_TARGETS": "{}"}).allowed_targets == AllowedTargets()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"servers": ["a"]}', '{"queues": 5}', "null", '"queues"'])
def test_settings_with_invalid_allowed_targets_are_rejected_with_the_expected_form(text: str) -> None:
    said = refusal(ApiSettings, API | {"DUECOURSE_ALLOWED_TARGETS": text})
    assert "must be a JSON object of lists named functions, queues, topics" in said


@pytest.mark.parametrize("text", ["", "[]", "{", '{"reports": "daily/"}', '{"reports": {"acme": 5}}'])
def test_settings_with_invalid_result_buckets_are_rejected_with_the_expected_form(text: str) -> None:
    said = refusal(ExecuteSettings, EXECUTE | {"DUECOURSE_RESULT_BUCKETS": text})
    assert "must be a JSON object of the prefixes of tenants by bucket" in said
    assert ExecuteSettings.from_env(EXECUTE).result_buckets == {"reports": {"acme": "daily/"}}


@pytest.mark.parametrize("text", ["", "https://jobs.example", " key-1", "https://a  b"])
def test_settings_with_an_invalid_issuer_are_rejected_with_the_expected_form(text: str) -> None:
    said = refusal(ExecuteSettings, EXECUTE | {"DUECOURSE_OIDC": text})
    assert "must be a URL, followed by the ids of the keys, or none" in said
    assert ExecuteSettings.from_env(EXECUTE).oidc == OidcIssuer("https://jobs.example", ("key-1", "key-2"))
    assert ApiSettings.from_env(API | {"DUECOURSE_OIDC": "none"}).oidc is None


@each
def test_settings_ignore_unrelated_variables(settings: Any, environ: dict[str, str]) -> None:
    assert settings.from_env(environ | {"PATH": "/bin", "DUECOURSE_LATER": "?"}) == settings.from_env(environ)


@each
def test_settings_are_immutable(settings: Any, environ: dict[str, str]) -> None:
    read = settings.from_env(environ)
    with pytest.raises(FrozenInstanceError):
        read.stage = "prod"


@each
def test_settings_from_an_empty_environment_are_rejected_with_every_missing_variable(
    settings: Any, environ: dict[str, str]
) -> None:
    said = refusal(settings, {})
    assert set(re.findall(r"DUECOURSE_[A-Z_]+(?= is missing)", said)) == set(environ)
    assert said.startswith(settings.__name__)


@each
def test_settings_without_one_variable_are_rejected_with_only_that_one(settings: Any, environ: dict[str, str]) -> None:
    for name in environ:
        rest = {key: value for key, value in environ.items() if key != name}
        assert refusal(settings, rest) == f"{settings.__name__}: {name} is missing"


def test_settings_report_missing_and_wrong_variables_in_one_message() -> None:
    wrong = API | {"DUECOURSE_SHARDS": "many", "DUECOURSE_QUEUE_URL_LONG": " ", "DUECOURSE_PRIVATE_TARGETS": "maybe"}
    del wrong["DUECOURSE_JOBS_TABLE"]
    assert refusal(ApiSettings, wrong).split("; ") == [
        "ApiSettings: DUECOURSE_JOBS_TABLE is missing",
        "DUECOURSE_SHARDS='many': must be a whole number from 1 to 9999",
        "DUECOURSE_QUEUE_URL_LONG=' ': must not be empty",
        "DUECOURSE_PRIVATE_TARGETS='maybe': must be one of allow, refuse",
    ]


@pytest.mark.parametrize(
    "text",
    ["", "0", "-1", "+1", "1.0", "1e3", " 16", "16 ", "1_0", "10000", "١٦", "²", pytest.param("9" * 5000, id="huge")],
)
def test_settings_numbers_must_consist_of_digits_within_their_bounds(text: str) -> None:
    assert "DUECOURSE_SHARDS=" in refusal(TickSettings, TICK | {"DUECOURSE_SHARDS": text})


@pytest.mark.parametrize(
    ("settings", "environ", "name", "low", "high"),
    [
        (TickSettings, TICK, "SHARDS", 1, 9999),
        (DispatchSettings, DISPATCH | {"DUECOURSE_HORIZON_SECONDS": "840"}, "LOOKAHEAD_SECONDS", 60, 840),
        (DispatchSettings, DISPATCH | {"DUECOURSE_LOOKAHEAD_SECONDS": "60"}, "HORIZON_SECONDS", 60, 840),
        (DispatchSettings, DISPATCH, "RUN_RETENTION_DAYS", 1, 3650),
        (ExecuteSettings, EXECUTE, "MAX_RECEIVE_COUNT", 2, 1000),
        (ApiSettings, API, "JOB_QUOTA", 1, 10_000_000),
        (ApiSettings, API, "REQUESTS_PER_SECOND", 1, 100_000),
        (ApiSettings, API, "BURST", 1, 1_000_000),
        (ApiSettings, API, "SMALLEST_INTERVAL_SECONDS", 1, 86_400),
        (ApiSettings, API, "BACKFILL_LIMIT", 1, 1_000_000),
        (ApiSettings, API, "DELAYED_RUNS_PER_HOUR", 1, 10_000_000),
    ],
)
def test_settings_numbers_include_their_bounds(
    settings: Any, environ: dict[str, str], name: str, low: int, high: int
) -> None:
    for good in (low, high):
        assert getattr(settings.from_env(environ | {f"DUECOURSE_{name}": str(good)}), name.lower()) == good
    for bad in (low - 1, high + 1):
        said = refusal(settings, environ | {f"DUECOURSE_{name}": str(bad)})
        assert f"DUECOURSE_{name}='{bad}': must be a whole number from {low} to {high}" in said


@pytest.mark.parametrize(
    ("settings", "environ", "name", "words"),
    [
        (ExecuteSettings, EXECUTE, "LANE", "high, normal, low, long"),
        (ExecuteSettings, EXECUTE, "PRIVATE_TARGETS", "allow, refuse"),
        (ApiSettings, API, "DEFAULT_PRECISION", "second, exact"),
        (ApiSettings, API, "AUTH", "none, iam, jwt"),
    ],
)
def test_settings_unknown_word_is_rejected_with_the_known_ones(
    settings: Any, environ: dict[str, str], name: str, words: str
) -> None:
    said = refusal(settings, environ | {f"DUECOURSE_{name}": "HIGH"})
    assert said == f"{settings.__name__}: DUECOURSE_{name}='HIGH': must be one of {words}"


@pytest.mark.parametrize(("settings", "environ"), [(DispatchSettings, DISPATCH), (ApiSettings, API)])
def test_settings_horizon_below_the_lookahead_is_rejected(settings: Any, environ: dict[str, str]) -> None:
    said = refusal(settings, environ | {"DUECOURSE_LOOKAHEAD_SECONDS": "300", "DUECOURSE_HORIZON_SECONDS": "299"})
    assert "DUECOURSE_HORIZON_SECONDS=299: must not be less than DUECOURSE_LOOKAHEAD_SECONDS=300" in said
    even = settings.from_env(environ | {"DUECOURSE_LOOKAHEAD_SECONDS": "300", "DUECOURSE_HORIZON_SECONDS": "300"})
    assert even.horizon_seconds == even.lookahead_seconds


def test_settings_api_without_authentication_is_rejected_outside_the_local_stage() -> None:
    open_to_all = API | {"DUECOURSE_AUTH": "none"}
    assert (
        refusal(ApiSettings, open_to_all) == "ApiSettings: DUECOURSE_AUTH='none': is allowed only for the stage local"
    )
    assert ApiSettings.from_env(open_to_all | {"DUECOURSE_STAGE": "local"}).auth == "none"


@each
def test_settings_texts_must_not_be_empty(settings: Any, environ: dict[str, str]) -> None:
    words = ("private_targets", "secret_store", "auth")
    texts = [field.name for field in fields(settings) if field.type == "str" and field.name not in words]
    assert texts
    for name in texts:
        variable = f"DUECOURSE_{name.upper()}"
        assert refusal(settings, environ | {variable: "  "}).endswith(f"{variable}='  ': must not be empty")
