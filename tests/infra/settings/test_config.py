"""Configuration of a stage, and the limits that the documentation gives.

- The stages' configuration.
- What docs/api.md says of a tenant's limits is what the stages set.
"""

import json
import re
from collections import Counter
from dataclasses import fields, replace
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk.assertions import Template

from duecourse.settings import AllowedTargets
from infra.application import build
from infra.functions.python_function import LOG_RETENTION
from infra.settings.auth_config import AuthConfig, LimitsConfig
from infra.settings.config import LOG_RETENTION_DAYS, ConfigError, ReservedConcurrency, StageConfig
from infra.settings.deployment_settings import DEPLOYMENT_SETTINGS
from infra.settings.lanes_config import LaneConfig, lanes
from infra.settings.stores_config import StandbyConfig, buckets_json
from infra.settings.targets_config import AllowedTargetsConfig
from infra.stages import STAGES, from_context
from tests.support.template import ROOT


def configured(**context: str) -> StageConfig:
    return from_context(context.get)


def test_stage_config_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"stage must be one of local, dev, prod, not 'production'"):
        configured(stage="production")


def test_stage_config_all_invalid_fields_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        replace(STAGES["dev"], shards=0, horizon_seconds=900, private_targets="perhaps", alarm_email="me")
    for field in ("shards", "horizon_seconds", "private_targets", "alarm_email"):
        assert field in str(refused.value)


@pytest.mark.parametrize(
    ("field", "lane"),
    [
        ("timeout_seconds", LaneConfig(timeout_seconds=901, batch_size=1, max_concurrency=2)),
        ("batch_size", LaneConfig(timeout_seconds=10, batch_size=11, max_concurrency=2)),
        ("max_concurrency", LaneConfig(timeout_seconds=10, batch_size=1, max_concurrency=1)),
        ("memory_mb", LaneConfig(timeout_seconds=10, batch_size=1, max_concurrency=2, memory_mb=64)),
    ],
)
def test_stage_config_lane_that_aws_would_refuse_is_refused(field: str, lane: LaneConfig) -> None:
    with pytest.raises(ConfigError, match=rf"lanes\.low\.{field}"):
        replace(STAGES["dev"], lanes={**STAGES["dev"].lanes, "low": lane})


def test_stage_config_missing_lane_is_refused() -> None:
    lanes = {name: lane for name, lane in STAGES["dev"].lanes.items() if name != "long"}
    with pytest.raises(ConfigError, match="lanes must be high, normal, low, long"):
        replace(STAGES["dev"], lanes=lanes)


KINDS = [field.name for field in fields(AllowedTargetsConfig) if field.init]
OF_NETWORKS = ("subnets", "security_groups", "public_ip")


def allowing(**allowed: tuple[str, ...]) -> StageConfig:
    return replace(STAGES["dev"], allowed_targets=AllowedTargetsConfig(**allowed))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in OF_NETWORKS])
@pytest.mark.parametrize("pattern", ["*", "**", "?*", "", "arn:aws:sqs:us-east-1:000000000000:jobs", "a[bc]", "a/b"])
def test_stage_config_target_patterns_that_allow_everything_or_do_not_fit_a_role_are_refused(
    kind: str, pattern: str
) -> None:
    with pytest.raises(ConfigError, match=f"allowed_targets.{kind} must"):
        allowing(**{kind: ("duecourse-target-*", pattern)})


@pytest.mark.parametrize("revision", ["", "0", "x", "1:2", "1*"])
def test_stage_config_task_definition_revision_is_a_number_or_a_wildcard(revision: str) -> None:
    with pytest.raises(ConfigError, match=r"allowed_targets\.task_definitions must have a revision"):
        allowing(task_definitions=(f"batch:{revision}",))
    allowing(task_definitions=("batch", "batch:7", "batch-*:*"))


@pytest.mark.parametrize(
    ("kind", "wrong"), [("subnets", "subnet-*"), ("subnets", "sg-0123456789abcdef0"), ("security_groups", "sg-1")]
)
def test_stage_config_networks_are_allowed_by_ids_or_all(kind: str, wrong: str) -> None:
    with pytest.raises(ConfigError, match=rf"allowed_targets\.{kind} must be ids"):
        allowing(**{kind: (wrong,)})
    allowing(subnets=("subnet-0123456789abcdef0",), security_groups=("default", "sg-0123456789abcdef0"))


def test_stage_config_tasks_get_no_public_address_unless_allowed() -> None:
    assert AllowedTargetsConfig().public_ip is False


@pytest.mark.parametrize("action", ["ecs:*", "ecs:Update*", "UpdateService", "ecs:update_service", "ECS:UpdateService"])
def test_stage_config_api_calls_are_allowed_individually(action: str) -> None:
    with pytest.raises(ConfigError, match=r"allowed_targets\.actions must name API calls such as ecs:UpdateService"):
        allowing(actions=(action,))


def test_stage_config_api_calls_require_roles() -> None:
    with pytest.raises(ConfigError, match=r"allowed_targets\.roles must contain the roles"):
        allowing(actions=("ecs:UpdateService",), roles=())


def test_stage_config_knows_every_target_kind_of_the_functions() -> None:
    assert set(KINDS) - {"task_roles"} == {field.name for field in fields(AllowedTargets)} - {"connectors"}


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_stage_config_api_calls_are_refused_unless_allowed(stage: str) -> None:
    assert STAGES[stage].allowed_targets == AllowedTargetsConfig()
    assert AllowedTargetsConfig().actions == ()


LAMBDA = {"type": "lambda", "function": "duecourse-target-mail"}


@pytest.mark.parametrize(
    ("name", "task", "problem"),
    [
        ("send invoice", {"target": LAMBDA}, "must have a name of 1 to 64 letters"),
        ("a" * 65, {"target": LAMBDA}, "must have a name of 1 to 64 letters"),
        ("mail", {"target": LAMBDA, "retries": {}}, "must be {"),
        ("mail", {"target": LAMBDA, "defaults": ["low"]}, "must be {"),
        ("mail", {}, "must have a target"),
        ("mail", {"target": {"function": "f"}}, "must have a target with its type"),
        ("mail", {"target": {"type": "task", "name": "mail"}}, "must have a target with its type, other than task"),
        ("mail", {"target": LAMBDA, "defaults": {"payload": float("nan")}}, "must be JSON"),
        ("mail", {"target": LAMBDA, "defaults": {"payload": object()}}, "must be JSON"),
        ("mail", {"target": LAMBDA, "defaults": {"payload": "é" * 700}}, "must not take more than 4096 bytes"),
    ],
)
def test_stage_config_invalid_task_is_refused_by_name(name: str, task: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        replace(STAGES["dev"], tasks={name: task})
    assert f"tasks.{name} {problem}" in str(refused.value)


@pytest.mark.parametrize(
    ("field", "value"), [("secret_store", "vault"), ("reconcile_minutes", 0), ("reconcile_minutes", 61)]
)
def test_stage_config_other_invalid_settings_are_named(field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"{field} must"):
        replace(STAGES["dev"], **{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("stage", ["Prod", "1st", "prod_eu", "", "p" * 32, "prod "])
def test_stage_config_name_too_long_for_derived_names_is_refused(stage: str) -> None:
    with pytest.raises(ConfigError, match="stage must match"):
        replace(STAGES["dev"], stage=stage)


def test_stage_config_log_retention_is_one_of_the_supported_times() -> None:
    assert tuple(LOG_RETENTION) == LOG_RETENTION_DAYS
    with pytest.raises(ConfigError, match="log_retention_days must be one of 7, 14, 30, 90"):
        replace(STAGES["dev"], log_retention_days=60)


def test_stage_config_reserved_concurrency_leaves_the_unreserved_minimum_of_aws() -> None:
    small = lanes(high=2, normal=2, low=2, long=2)
    reserved = ReservedConcurrency(tick=2, dispatch=16, api=50)
    replace(STAGES["dev"], lanes=small, reserved_concurrency=reserved, account_concurrency=168)
    with pytest.raises(ConfigError, match="account_concurrency must be at least 168"):
        replace(STAGES["dev"], lanes=small, reserved_concurrency=reserved, account_concurrency=167)
    replace(STAGES["dev"], lanes=small, account_concurrency=16)


def test_stage_config_new_accounts_can_omit_reserved_concurrency() -> None:
    assert configured(stage="prod").reserved_concurrency.tick is not None
    assert configured(stage="prod", reserved_concurrency="none").reserved_concurrency == ReservedConcurrency()
    with pytest.raises(ConfigError, match="reserved_concurrency must be an object with some of api, callbacks, "):
        configured(stage="prod", reserved_concurrency="5")


def test_stage_config_email_address_can_be_subscribed_to_the_alarms() -> None:
    assert configured(stage="prod", alarm_email="ops@example.com").alarm_email == "ops@example.com"


def test_stage_config_lookahead_covers_a_late_tick_in_every_stage() -> None:
    for config in STAGES.values():
        assert config.lookahead_seconds >= 2 * 60
        assert config.lookahead_seconds <= config.horizon_seconds < 900


def test_stage_config_deletion_protection_can_be_turned_off_for_one_deployment_only() -> None:
    assert configured(stage="prod").refuses_deletion
    assert not configured(stage="prod", deletion_protection="off").refuses_deletion
    assert not configured(stage="dev").refuses_deletion, "its data go with it"
    assert "deletion_protection" not in DEPLOYMENT_SETTINGS


def test_stage_config_all_invalid_settings_of_a_deployment_are_reported_at_once() -> None:
    settings = {
        "stage": "prod",
        "alarm_email": "nobody",
        "deployment": "sometimes",
        "issuer": "https://login.example.com",
        "shards": '"many"',
    }
    with pytest.raises(ConfigError) as error:
        from_context(settings.get)
    for name in ("alarm_email", "deployment", "audience", "shards"):
        assert name in str(error.value)


def test_stage_config_deletion_protection_can_only_be_set_to_off() -> None:
    with pytest.raises(ConfigError, match="deletion_protection can only be set to 'off', not 'on'"):
        configured(stage="prod", deletion_protection="on")


def test_stage_config_open_route_limits_are_neither_zero_nor_above_the_api_limit() -> None:
    api = STAGES["prod"].api
    for wrong in (0, 2001):
        with pytest.raises(ConfigError, match=r"api\.open_requests_per_second must be between 1 and 2000"):
            replace(STAGES["prod"], api=replace(api, open_requests_per_second=wrong))
    with pytest.raises(ConfigError, match=r"api\.open_burst must be at least open_requests_per_second"):
        replace(STAGES["prod"], api=replace(api, open_burst=4))


def test_stage_config_gateway_rate_is_at_least_ten_times_the_tenant_limit() -> None:
    prod = STAGES["prod"]
    few = replace(prod.api, requests_per_second=10 * prod.limits.requests_per_second - 1)
    with pytest.raises(ConfigError, match=r"api\.requests_per_second must be at least ten times limits"):
        replace(prod, api=few)


@pytest.mark.parametrize("routes", ["callback", "hook", "well_known", "console"])
def test_stage_config_other_open_routes_have_their_own_throttles_above_zero(routes: str) -> None:
    api = STAGES["prod"].api
    changes: dict[str, Any] = {f"{routes}_requests_per_second": 0}
    with pytest.raises(ConfigError, match=rf"api\.{routes}_requests_per_second must be at least 1"):
        replace(STAGES["prod"], api=replace(api, **changes))
    changes = {f"{routes}_burst": 1}
    with pytest.raises(ConfigError, match=rf"api\.{routes}_burst must be at least {routes}_requests_per_second"):
        replace(STAGES["prod"], api=replace(api, **changes))


SECTION = re.compile(r"^## Limits\n(.*?)^## ", re.MULTILINE | re.DOTALL)


def documented() -> list[list[str]]:
    """The cells of the section's first table, row by row, without the line under its head."""
    found = SECTION.search((ROOT / "docs" / "api.md").read_text())
    assert found is not None
    table = next(part for part in found[1].split("\n\n") if part.lstrip().startswith("|"))
    rows = [line.strip("|").split("|") for line in table.strip().splitlines()]
    return [[cell.strip() for cell in row] for row in rows if not row[0].startswith("---")]


def figures(limits: LimitsConfig) -> list[str]:
    """A stage's limits, in the order and the form of the table."""
    return [
        f"{limits.requests_per_second} / {limits.burst}",
        f"{limits.job_quota:,}",
        f"{limits.smallest_interval_seconds:,}",
        f"{limits.backfill_limit:,}",
        f"{limits.delayed_runs_per_hour:,}",
    ]


def test_stage_config_documented_limits_match_the_stages() -> None:
    head, *rows = documented()
    stages = head[1:-1]
    assert stages == ["dev", "prod"]
    for column, stage in enumerate(stages, start=1):
        assert [row[column] for row in rows] == figures(STAGES[stage].limits)


@pytest.mark.parametrize(
    ("buckets", "said"),
    [
        ({"Reports": {"prefixes": {"acme": ""}}}, r"result_buckets\.Reports must be the name of a bucket"),
        ({"reports": {}}, r"result_buckets\.reports\.prefixes must have the prefix of each tenant"),
        ({"reports": {"prefixes": {"acme": "daily"}}}, r"reports\.prefixes\.acme must be empty, or folders"),
        ({"reports": {"prefixes": {"acme": "*/"}}}, r"reports\.prefixes\.acme must be empty, or folders"),
        ({"reports": {"prefixes": {"a b": ""}}}, r"reports\.prefixes\.a b must be a tenant, or \* for all others"),
        ({"reports": {"prefixes": {"*": "daily/"}}}, r"reports\.prefixes\.\* must end with {tenant}/"),
        ({"reports": {"prefixes": {"acme": "{tenant}/"}}}, r"prefixes\.acme must end with {tenant}/ for \*, and only"),
        ({"reports": {"prefixes": {"a": "x/", "b": "x/y/"}}}, r"prefixes\.b must not be within the prefix of a"),
        ({"reports": {"prefixes": {"a": "x/", "*": "{tenant}/"}}}, r"prefixes\.a must not be within the prefix of \*"),
        ({"reports": {"prefixes": {"a": ""}, "key": "alias/x"}}, r"reports\.key must be the ARN of the KMS key"),
        ({"reports": {"prefixes": {"a": ""}, "account": 1}}, r"reports\.account must be the account of the bucket"),
        ({"reports": {"prefixes": {"a": ""}, "keys": 1}}, r"reports must have only account, key, prefixes, not keys"),
        ({f"r-{n}": {"prefixes": {"a": "x" * 40 + "/"}} for n in range(20)}, "must not take more than 1000 bytes"),
    ],
)
def test_stage_config_bucket_for_results_that_would_mix_tenants_or_be_refused_is_refused(
    buckets: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        replace(STAGES["dev"], result_buckets=buckets)


def test_stage_config_buckets_for_results_are_passed_to_the_functions_by_their_prefixes() -> None:
    key = "arn:aws:kms:eu-west-1:123456789012:key/abc"
    buckets = {
        "reports": {"prefixes": {"acme": "daily/", "globex": "weekly/"}, "key": key, "account": "123456789012"},
        "shared": {"prefixes": {"acme": "old/", "*": "results/{tenant}/"}},
    }
    given = buckets_json(replace(STAGES["dev"], result_buckets=buckets).result_buckets)
    assert json.loads(given) == {name: parts["prefixes"] for name, parts in buckets.items()}


OFFICE: dict[str, Any] = {
    "subnets": ["subnet-0123456789abcdef0"],
    "security_groups": ["sg-0123456789abcdef0"],
    "tenants": ["erp"],
    "hosts": ["*.corp.example", "10.0.0.7", "fd00::7"],
    "cidrs": ["10.0.0.0/8", "100.64.0.0/10", "fd00::/8", "93.184.216.0/24"],
}


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("subnets", None, r"office\.subnets must be a list of the subnets"),
        ("subnets", ["vpc-1"], r"office\.subnets must be ids such as subnet-"),
        ("subnets", [f"subnet-{n:08x}" for n in range(17)], r"office\.subnets must have at most 16 entries"),
        ("security_groups", [], r"office\.security_groups must be a list of the security groups"),
        ("security_groups", ["default"], r"office\.security_groups must be ids such as sg-"),
        ("tenants", None, r'office\.tenants must be a list of the tenants whose jobs may use it; \["\*"\] admits all'),
        ("tenants", ["a b"], r"office\.tenants must be tenants, or \* for all"),
        ("hosts", "*.corp.example", r"office\.hosts must be a list of the hosts"),
        ("hosts", ["ERP.corp.example"], r"office\.hosts must be lowercase names"),
        ("hosts", ["erp.*.example"], r"office\.hosts must be lowercase names"),
        ("hosts", ["*corp.example"], r"office\.hosts must be lowercase names"),
        ("hosts", ["https://erp"], r"office\.hosts must be lowercase names"),
        ("cidrs", ["10.0.0.1/8"], r"office\.cidrs must be a network such as 10\.20\.0\.0/16"),
        ("cidrs", ["127.0.0.0/8"], r"cidrs must not begin or end with an address .* \(loopback\)"),
        ("cidrs", ["169.254.0.0/16"], r"cidrs must not begin or end with an address .* \(link-local\)"),
        ("cidrs", ["169.254.169.254/32"], r"cidrs must not begin or end with an address .* \(cloud metadata\)"),
        ("cidrs", ["fd00:ec2::254/128"], r"cidrs must not begin or end with an address .* \(cloud metadata\)"),
        ("cidrs", ["::ffff:127.0.0.0/120"], r"office\.cidrs must be written as an IPv4 network"),
        ("cidrs", ["::ffff:10.0.0.0/104"], r"office\.cidrs must be written as an IPv4 network"),
        ("cidrs", ["::fffe:0:0/95"], r"office\.cidrs must not begin or end with an address .* \(reserved\)"),
        ("cidrs", ["0.0.0.0/0"], r"office\.cidrs must not begin or end with an address that no connector calls"),
        ("cidrs", ["::/0"], r"office\.cidrs must not begin or end with an address that no connector calls"),
        ("concurrency", 0, r"office\.concurrency must be null or a whole number of at least 1"),
        ("concurrency", "50", r"office\.concurrency must be null or a whole number of at least 1"),
        ("concurrency", True, r"office\.concurrency must be null or a whole number of at least 1"),
        ("concurrency", 1_000, r"account_concurrency must be at least 1100, because AWS keeps 100 unreserved"),
        ("vpc", "vpc-1", r"office must have only .*, not vpc"),
        ("loopback", True, r"office must have only .*, not loopback"),
    ],
)
def test_stage_config_connector_that_could_not_work_or_calls_too_much_is_refused(
    part: str, value: Any, said: str
) -> None:
    assert replace(STAGES["dev"], connectors={"office": OFFICE}).connectors == {"office": OFFICE}
    with pytest.raises(ConfigError, match=said):
        replace(STAGES["dev"], connectors={"office": OFFICE | {part: value}})


def test_stage_config_connectors_of_a_stage_must_fit_the_account_with_its_lanes() -> None:
    connectors = {"office": OFFICE, "plant": OFFICE | {"concurrency": 200}, "lab": OFFICE | {"concurrency": None}}
    with pytest.raises(ConfigError, match="account_concurrency must be at least 883"):
        replace(STAGES["prod"], connectors=connectors, account_concurrency=882)
    config = replace(STAGES["prod"], connectors=connectors, account_concurrency=883)
    assert config.reserved["connector office"] == 50
    assert config.reserved["connector plant"] == 200
    assert "connector lab" not in config.reserved


@pytest.mark.parametrize("name", ["Office", "off-ice", "1", "a" * 19, ""])
def test_stage_config_connector_without_a_short_plain_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="must have a name of 1 to 18 lowercase letters and digits"):
        replace(STAGES["dev"], connectors={name: OFFICE})


def test_stage_config_connectors_that_fill_the_environment_are_refused() -> None:
    many = {f"office{number}": OFFICE for number in range(9)}
    with pytest.raises(ConfigError, match="must not take more than 1000 bytes together"):
        replace(STAGES["dev"], connectors=many)


def test_stage_config_connector_of_the_local_stage_has_no_network() -> None:
    with pytest.raises(ConfigError, match="office must have only tenants, hosts, cidrs, not security_groups, subnets"):
        replace(STAGES["local"], connectors={"office": OFFICE})


def test_stage_config_connectors_are_refused_with_a_standby_whose_region_has_other_subnets() -> None:
    standby = StandbyConfig(home="eu-west-1", region="eu-central-1")
    auth = AuthConfig(kind="iam")
    with pytest.raises(ConfigError, match="connectors must be empty with standby"):
        replace(STAGES["dev"], connectors={"office": OFFICE}, standby=standby, auth=auth)


@pytest.mark.parametrize("names", [("A",), ("a", "a"), ("a", "b", "c", "d"), ("",)])
def test_stage_config_keys_of_tokens_that_are_not_different_names_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="oidc_keys must be at most 3 different names"):
        replace(STAGES["dev"], oidc_keys=names)


@pytest.mark.parametrize("count", [7, 65])
def test_config_partitions_of_lists_out_of_range_are_rejected(count: int) -> None:
    with pytest.raises(ConfigError, match="run_index_partitions must be between 8 and 64"):
        replace(STAGES["dev"], run_index_partitions=count)


def test_stage_config_stage_like_prod_has_the_resources_of_prod() -> None:
    ours = json.loads((ROOT / "cdk.json").read_text())["context"] | {"aws:cdk:bundling-stacks": []}

    def kinds(**context: str) -> Counter[str]:
        (stack,) = (each for each in build(context=ours | context, environ={}).node.children if isinstance(each, Stack))
        return Counter(each["Type"] for each in Template.from_stack(stack).to_json()["Resources"].values())

    staging = kinds(stage="staging", like="prod")
    assert staging == kinds(stage="prod")
    assert staging["AWS::CodeDeploy::DeploymentGroup"] == 5
