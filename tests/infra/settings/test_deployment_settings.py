"""Settings of a deployment, and of one in China.

- What a deployment sets by itself stands in `settings/<stage>.json`, so that no command has to repeat it.
- Regions of China: what they do not offer is refused before anything is deployed, with the setting and the reason.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App

from infra.application import build
from infra.settings.auth_config import AuthConfig
from infra.settings.changes import CHANGEABLE
from infra.settings.config import ConfigError, ReservedConcurrency, StageConfig
from infra.settings.deployment_settings import DEPLOYMENT_SETTINGS, with_deployment_settings
from infra.settings.domain_config import ApiDomainConfig
from infra.settings.lanes_config import LaneConfig
from infra.settings.places import missing_in_china
from infra.settings.stores_config import StandbyConfig
from infra.settings.targets_config import AllowedTargetsConfig
from infra.settings.throughput_config import Pollers, ThroughputConfig, WarmThroughput
from infra.stack import DuecourseStack
from infra.stages import STAGES, from_context
from tests.infra.conftest import Stack
from tests.support.template import ROOT

ISSUER = "https://login.example.com"
OF_PROD = {
    "alarm_email": "ops@example.com",
    "audience": "duecourse",
    "console_client": "web",
    "console_scope": "openid api",
    "encryption_key": "none",
    "issuer": ISSUER,
    "operator_tenant": "platform",
    "reserved_concurrency": "none",
    "tenant_claim": "org",
}
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def keep(folder: Path, stage: str, settings: Any) -> None:
    text = settings if isinstance(settings, str) else json.dumps(settings)
    (folder / f"{stage}.json").write_text(text)


def configured(folder: Path, **context: str) -> StageConfig:
    return from_context(with_deployment_settings(context.get, folder, STAGES))


def test_deployment_settings_of_a_stage_file_apply_to_its_deployments(folder: Path) -> None:
    keep(folder, "prod", OF_PROD)
    config = configured(folder, stage="prod")
    assert config.alarm_email == "ops@example.com"
    assert (config.auth.kind, config.auth.issuer, config.auth.audience) == ("jwt", ISSUER, ("duecourse",))
    assert config.auth.claim == "org"
    assert (config.auth.console_client, config.auth.console_scope) == ("web", "openid api")
    assert config.encryption_key is None
    assert config.operator_tenant == "platform"
    assert config.reserved_concurrency == ReservedConcurrency()


CERTIFICATE = "arn:aws:acm:eu-west-1:000000000000:certificate/1b2c"
WITHOUT_USER_POOL = {"issuer": ISSUER, "audience": "duecourse", "encryption_key": "none"}
"""What a stage with a standby must have."""

SIZED = {
    "account_concurrency": 5_000,
    "alarms": {"lateness_seconds": {"high": 2}},
    "allowed_targets": {"queues": ["orders", "mail-*"]},
    "api": {"requests_per_second": 3_000},
    "api_domain": {"name": "jobs.example.com", "certificate": CERTIFICATE},
    "archive": {"retention_days": 3_650},
    "audit_segments": 1,
    "completed_job_retention_days": 30,
    "connectors": {},
    "lanes": {
        "normal": {"max_concurrency": 200},
        "low": {"max_concurrency": None, "pollers": {"minimum": 2, "maximum": 9}},
    },
    "limits": {"job_quota": 50_000},
    "list_successes": False,
    "log_retention_days": 30,
    "loop_detection": False,
    "reserved_concurrency": {"dispatch": 32},
    "oidc_keys": ["2026", "2027"],
    "prescale": None,
    "result_buckets": {"reports": {"prefixes": {"acme": "daily/"}}},
    "run_index_partitions": 16,
    "run_retention_days": 30,
    "shards": 32,
    "standby": {"home": "eu-west-1", "region": "eu-central-1"},
    "tasks": {"mail": {"target": {"type": "http", "url": "https://example.com"}}},
    "throughput": {"runs": {"writes": 80_000}},
    "tracing": True,
}
"""A value of each setting that is no text."""


def test_deployment_settings_every_setting_of_a_stage_can_be_changed_in_its_file(folder: Path) -> None:
    keep(folder, "prod", SIZED | WITHOUT_USER_POOL)
    prod, config = STAGES["prod"], configured(folder, stage="prod")
    assert set(SIZED) == set(CHANGEABLE)
    assert config == replace(
        prod,
        account_concurrency=5_000,
        alarms=replace(prod.alarms, lateness_seconds={**prod.alarms.lateness_seconds, "high": 2}),
        allowed_targets=AllowedTargetsConfig(queues=("orders", "mail-*")),
        api=replace(prod.api, requests_per_second=3_000),
        api_domain=ApiDomainConfig(name="jobs.example.com", certificate=CERTIFICATE),
        archive=replace(prod.archive, retention_days=3_650),
        audit_segments=1,
        auth=AuthConfig(kind="jwt", issuer=ISSUER, audience=("duecourse",)),
        completed_job_retention_days=30,
        lanes={
            **prod.lanes,
            "normal": replace(prod.lanes["normal"], max_concurrency=200),
            "low": replace(prod.lanes["low"], max_concurrency=None, pollers=Pollers(minimum=2, maximum=9)),
        },
        limits=replace(prod.limits, job_quota=50_000),
        encryption_key=None,
        list_successes=False,
        log_retention_days=30,
        loop_detection=False,
        reserved_concurrency=replace(prod.reserved_concurrency, dispatch=32),
        oidc_keys=("2026", "2027"),
        result_buckets=SIZED["result_buckets"],
        run_index_partitions=16,
        run_retention_days=30,
        shards=32,
        standby=StandbyConfig(home="eu-west-1", region="eu-central-1"),
        tasks=SIZED["tasks"],
        throughput=ThroughputConfig(runs=WarmThroughput(writes=80_000)),
    )


def test_deployment_settings_command_line_gives_such_a_setting_as_json(folder: Path) -> None:
    keep(folder, "prod", {"shards": 64, "limits": {"job_quota": 5}})
    config = configured(folder, stage="prod", shards="32", lanes='{"low": {"max_concurrency": 30}}')
    assert (config.shards, config.lanes["low"].max_concurrency, config.limits.job_quota) == (32, 30, 5)
    with pytest.raises(ConfigError, match="stage 'prod': shards must be JSON"):
        configured(folder, stage="prod", shards="many")


def test_deployment_settings_of_one_stage_file_do_not_affect_other_stages(folder: Path) -> None:
    keep(folder, "prod", OF_PROD)
    assert configured(folder, stage="dev") == STAGES["dev"]


def test_deployment_settings_command_line_overrides_the_file_for_one_deployment(folder: Path) -> None:
    keep(folder, "prod", OF_PROD | {"deployment": "canary"})
    config = configured(folder, stage="prod", deployment="all_at_once", alarm_email="me@example.com")
    assert (config.deployment, config.alarm_email) == ("all_at_once", "me@example.com")
    assert config.auth.issuer == ISSUER


@pytest.mark.parametrize(
    ("kept", "given", "kind"),
    [
        (OF_PROD, {"auth": "iam"}, "iam"),
        (OF_PROD, {"auth": "cognito"}, "cognito"),
        (OF_PROD, {"issuer": "https://other.example.com"}, "jwt"),
        ({"auth": "iam"}, {"issuer": ISSUER, "audience": "duecourse"}, "jwt"),
        ({"auth": "iam"}, {"auth": "jwt", "issuer": ISSUER, "audience": "duecourse"}, "jwt"),
    ],
)
def test_deployment_settings_auth_on_the_command_line_replaces_stored_auth_of_another_kind(
    folder: Path, kept: dict[str, str], given: dict[str, str], kind: str
) -> None:
    keep(folder, "prod", kept)
    auth = configured(folder, stage="prod", **given).auth
    assert (auth.kind, auth.issuer) == (kind, given.get("issuer"))


@pytest.mark.parametrize("stage", STAGES)
def test_deployment_settings_missing_file_leaves_stage_defaults(folder: Path, stage: str) -> None:
    assert configured(folder, stage=stage) == STAGES[stage]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"alarm_mail": "ops@example.com"},
            r"settings/prod\.json: alarm_mail is not a setting; did you mean alarm_email\?",
        ),
        ({"colour": "red"}, r"settings/prod\.json: colour is not a setting; the settings are account_concurrency, "),
        ({"limits": {"job_qouta": 5}}, r"limits\.job_qouta is not a setting; did you mean job_quota\?"),
        ({"limits": {"job_quota": 10**9}}, r"limits\.job_quota must be a whole number from 1 to 10000000"),
        ({"run_retention_days": 10**6}, "run_retention_days must be a whole number from 1 to 3650"),
        ({"alarms": {"failed_share": 1}}, r"alarms\.failed_share must be a number"),
        ({"alarms": {"failed_share": 1.5}}, r"alarms\.failed_share must be a number between 0 and 1"),
        ({"alarms": {"failed_attempts": 0}}, r"alarms\.failed_attempts must be at least 1"),
        ({"alarm_email": "@"}, "alarm_email must be an e-mail address"),
        ({"alarm_email": "ops@example"}, "alarm_email must be an e-mail address"),
        ({"alarm_email": "a@example.com, b@example.com"}, "alarm_email must be an e-mail address"),
        ({"issuer": ISSUER, "audience": ",".join(map(str, range(51)))}, r"auth\.audience must have at most 50 entries"),
        ({"stage": "dev"}, r"settings/prod\.json: stage is not a setting"),
        ({"alarm_email": None}, r"settings/prod\.json: alarm_email must be a string"),
        ({"deployment": 5, "alarm_mail": "x"}, "deployment must be a string"),
        ({"reserved_concurrency": 5}, "reserved_concurrency must be an object with some of api, callbacks, dispatch"),
        ({"shards": "32"}, "stage 'prod': shards must be a whole number"),
        ({"shards": True}, "shards must be a whole number"),
        ({"shards": 0}, "shards must be between 1 and"),
        ({"limits": {"jobs": 5}}, r"limits\.jobs is not a setting; limits has backfill_limit, burst, "),
        (
            {"limits": {"job_quota": None, "burst": "9"}},
            r"limits\.job_quota must be a whole number; limits\.burst must",
        ),
        ({"limits": {"burst": 9}}, r"limits\.burst must be at least requests_per_second"),
        ({"lanes": {"fast": {}}}, r"lanes\.fast is not a setting; lanes has high, long, low, normal"),
        ({"lanes": {"low": {"batch_size": 1}}}, r"lanes\.low\.batch_size is not a setting"),
        ({"lanes": {"low": {"pollers": {"minimum": 5}}}}, r"lanes\.low\.pollers\.maximum must be set"),
        ({"lanes": {"low": {"max_concurrency": "x"}}}, r"lanes\.low\.max_concurrency must be a whole number or null"),
        ({"alarms": {"lateness_seconds": {"low": 0}}}, r"alarms\.lateness_seconds\.low must be at least 1"),
        ({"throughput": {"runs": {"reads": 5}}}, r"throughput\.runs\.reads must be null or at least 12000"),
        ({"allowed_targets": {"queues": "orders"}}, r"allowed_targets\.queues must be a list of strings"),
        ({"tasks": {"mail": {"target": {}}}}, r"tasks\.mail must have a target with its type"),
        ({"tasks": {"mail": 5}}, "tasks must be an object of objects"),
        ({"tracing": 1}, "tracing must be true or false"),
        ({"alarm_email": ""}, r"settings/prod\.json: alarm_email must not be empty"),
        ({"deployment": " "}, "deployment must not be empty"),
        ('{"issuer": "https://a", "issuer": "https://b"}', r"settings/prod\.json: issuer occurs twice"),
        (["alarm_email"], r"settings/prod\.json must be an object"),
        ("alarm_email: ops", r"settings/prod\.json must be JSON"),
        ({"alarm_email": "ops"}, "alarm_email must be an e-mail address"),
        ({"deployment": "slowly"}, "deployment must be all_at_once or canary"),
        ({"encryption_key": "mine"}, "encryption_key must"),
        ({"operator_tenant": "a team"}, "operator_tenant must be a tenant: 1 to 64 letters"),
        ({"issuer": ISSUER}, "auth.audience must"),
    ],
)
def test_deployment_settings_invalid_file_is_refused_with_the_field(folder: Path, settings: Any, told: str) -> None:
    keep(folder, "prod", settings)
    with pytest.raises(ConfigError, match=told):
        configured(folder, stage="prod")


def test_deployment_settings_file_of_an_unknown_stage_is_refused(folder: Path) -> None:
    keep(folder, "production", OF_PROD)
    with pytest.raises(
        ConfigError, match=r"settings/production\.json does not belong to a stage; the stages are local, dev, prod"
    ):
        configured(folder, stage="prod")


def test_deployment_settings_stage_of_another_name_is_like_a_known_one(folder: Path) -> None:
    keep(folder, "staging", {"like": "prod", "shards": 4})
    keep(folder, "prod", {"shards": 32})
    staging = configured(folder, stage="staging")
    assert staging == replace(STAGES["prod"], stage="staging", shards=4)
    assert (staging.deployment, staging.retain_data, staging.stack_name) == ("canary", True, "Duecourse-staging")
    assert configured(folder, stage="prod").shards == 32


@pytest.mark.parametrize(
    ("stage", "like", "told"),
    [
        ("prod", "prod", "stage 'prod' has its own defaults; remove like"),
        ("local", "prod", "stage 'local' has its own defaults"),
        ("staging", "local", "like must be dev or prod, not 'local'"),
        ("staging", "production", "like must be dev or prod, not 'production'"),
        ("Staging", "prod", "stage 'Staging': stage must match"),
        ("my-aws", "prod", "stage must not contain aws, amazon, cognito"),
    ],
)
def test_deployment_settings_stage_that_is_like_no_other_is_refused(
    folder: Path, stage: str, like: str, told: str
) -> None:
    keep(folder, stage, {"like": like})
    with pytest.raises(ConfigError, match=told):
        configured(folder, stage=stage)


def test_deployment_settings_unknown_stage_is_answered_with_the_file_to_write(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r'write \{"like": "prod"\} to settings/staging\.json'):
        configured(folder, stage="staging")


def test_deployment_settings_can_store_every_context_setting(folder: Path) -> None:
    asked: list[str] = []

    def context(name: str) -> str | None:
        asked.append(name)
        return "prod" if name == "stage" else None

    from_context(context)
    assert set(asked) - {"stage", "deletion_protection"} == set(DEPLOYMENT_SETTINGS)


def test_deployment_settings_that_are_stored_are_used_to_build_the_application(folder: Path) -> None:
    keep(folder, "dev", {"alarm_email": "ops"})
    with pytest.raises(ConfigError, match="alarm_email must be an e-mail address"):
        build(context={"stage": "dev"}, settings=folder)


def test_deployment_settings_app_finds_its_folder_from_anywhere_and_reports_errors_in_one_message(
    tmp_path: Path,
) -> None:
    """The very file that `cdk` runs, with a folder of settings beside it."""
    (tmp_path / "settings").mkdir()
    keep(tmp_path / "settings", "prod", {"alarm_mail": "ops@example.com"})
    (tmp_path / "app.py").write_text((ROOT / "app.py").read_text())
    done = subprocess.run(
        [sys.executable, str(tmp_path / "app.py")],
        cwd="/",
        env={**os.environ, "PYTHONPATH": str(ROOT), "CDK_CONTEXT_JSON": '{"stage": "prod"}'},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("duecourse: settings/prod.json: alarm_mail is not a setting")


def test_deployment_settings_checkout_context_overrides_no_stored_setting() -> None:
    assert set(json.loads((ROOT / "cdk.json").read_text())["context"]) & set(DEPLOYMENT_SETTINGS) == set()


def deploying(page: Path) -> Iterator[list[str]]:
    """Words of each command of a page that deploys, or shows what that would change; `make deploy` as its recipe."""
    recipe = re.search(
        r"^deploy:.*\n\t@\$\(BIN\)/python -m scripts\.(.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    assert recipe is not None
    found = re.findall(r"((?:\bmake|\bcdk) (?:deploy|diff|synth)\b[^\n`|#]*)", page.read_text().replace("\\\n", " "))
    for command in found:
        made = re.fullmatch(r"make deploy(?: STAGE=(\S+))?(?: SETTINGS=\"([^\"]*)\")?\s*", command)
        if made is None:
            yield shlex.split(command)
        else:
            filled = recipe[1].replace("$(STAGE)", made[1] or "prod").replace("$(SETTINGS)", made[2] or "")
            yield shlex.split(filled)


def settings_of(words: list[str]) -> dict[str, str]:
    """What a command gives with `-c`."""
    given = [words[place + 1] for place, word in enumerate(words[:-1]) if word == "-c"]
    return dict(each.split("=", 1) for each in given) | {"stage": "prod"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_deployment_settings_documented_commands_undo_no_stored_setting(page: Path, folder: Path) -> None:
    keep(folder, "prod", OF_PROD)
    kept = configured(folder, stage="prod")
    for words in deploying(page):
        context = settings_of(words)
        once = {name: value for name, value in context.items() if name not in ("deployment", "deletion_protection")}
        assert configured(folder, **once) == kept, words


def test_deployment_settings_pages_contain_the_deploying_commands() -> None:
    found = {page.name: len(list(deploying(page))) for page in PAGES}
    assert all(found[name] for name in ("README.md", "operations.md", "upgrading.md", "sizing.md")), found


SETTINGS = r'^```json title="settings/[a-z]+\.json"\n(.*?)^```'


def test_deployment_settings_settings_in_the_pages_are_valid_and_change_the_stage(folder: Path) -> None:
    found = [example for page in PAGES for example in re.findall(SETTINGS, page.read_text(), re.MULTILINE | re.DOTALL)]
    assert len(found) == 5
    for example in found:
        keep(folder, "prod", example)
        assert configured(folder, stage="prod") != STAGES["prod"]


@pytest.mark.parametrize(
    "lane", [{"max_concurrency": 0}, {"max_concurrency": None, "pollers": {"minimum": 0, "maximum": 0}}]
)
def test_deployment_settings_steps_between_a_maximum_and_pollers_can_be_set(folder: Path, lane: dict[str, Any]) -> None:
    keep(folder, "prod", {"lanes": {"high": lane}, "account_concurrency": 5_000})
    assert configured(folder, stage="prod").lanes["high"].most_concurrent == 1_250


@pytest.mark.parametrize(("region", "refused"), [("eu-central-1", False), ("us-east-1", True), (None, False)])
def test_deployment_settings_key_of_another_region_is_refused(region: str | None, *, refused: bool) -> None:
    key = "arn:aws:kms:eu-central-1:000000000000:key/0b7e2a3c"
    ours = json.loads((ROOT / "cdk.json").read_text())["context"] | {"aws:cdk:bundling-stacks": [], "stage": "prod"}
    environ = {} if region is None else {"CDK_DEFAULT_REGION": region}
    with pytest.raises(ConfigError, match="must be a key of us-east-1") if refused else nullcontext():
        build(context=ours | {"encryption_key": key}, environ=environ)


FITTING = replace(STAGES["prod"], auth=AuthConfig(kind="iam"), tracing=False, loop_detection=False)
"""Prod without what those regions do not have."""


@pytest.mark.parametrize("region", ["cn-north-1", "cn-northwest-1"])
def test_deployment_settings_features_missing_in_a_region_are_refused_with_the_reason(region: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build(context={"stage": "prod"}, environ={"CDK_DEFAULT_REGION": region})
    first, *others = str(refused.value).split("; ")
    assert first.startswith(
        f"stage 'prod' in {region}: auth.kind must be jwt or iam, because Cognito has no user pools in China"
    )
    assert [each.split()[0] for each in others] == ["tracing", "loop_detection"]


@pytest.mark.parametrize("region", ["eu-central-1", "us-gov-west-1", None])
def test_deployment_settings_other_regions_refuse_no_feature(region: str | None) -> None:
    ours = json.loads((ROOT / "cdk.json").read_text())["context"] | {"aws:cdk:bundling-stacks": [], "stage": "dev"}
    build(context=ours, environ={} if region is None else {"CDK_DEFAULT_REGION": region})


def test_deployment_settings_stage_can_be_adapted_to_a_region_with_missing_features() -> None:
    assert not list(missing_in_china(FITTING))
    polled = {**FITTING.lanes, "low": LaneConfig(120, 10, None, pollers=Pollers(minimum=2, maximum=3))}
    (problem,) = missing_in_china(replace(FITTING, lanes=polled))
    assert problem.startswith("lanes.low.pollers must be null")


def test_deployment_settings_adapted_stage_uses_none_of_the_missing_features() -> None:
    ours = json.loads((ROOT / "cdk.json").read_text())["context"] | {"aws:cdk:bundling-stacks": []}
    app = App(context=ours, analytics_reporting=False)
    DuecourseStack(app, FITTING)
    prod = Stack("prod", app.synth().get_stack_by_name(FITTING.stack_name).template)
    functions = prod.resources("AWS::Lambda::Function").values()
    assert not [each for each in functions if {"RecursiveLoop", "TracingConfig"} & each.keys()]
    mappings = prod.resources("AWS::Lambda::EventSourceMapping").values()
    assert not [each for each in mappings if {"MetricsConfig", "ProvisionedPollerConfig"} & each.keys()]
    assert not prod.resources("AWS::Cognito::UserPool")


def test_deployment_settings_api_address_is_the_endpoint_that_the_gateway_reports(stack: Stack) -> None:
    """Whatever the host's ending in the partition."""
    assert list(stack.template["Outputs"]["ApiUrl"]["Value"]["Fn::GetAtt"])[1] == "ApiEndpoint"
