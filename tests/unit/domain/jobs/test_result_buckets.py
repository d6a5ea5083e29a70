"""Which buckets and prefixes a tenant may use for results."""

import pytest

from duecourse.domain.jobs.job import ResultLocation
from duecourse.domain.jobs.result_buckets import location_refusal, prefix_of, result_path

BUCKETS = {"reports": {"acme": "daily/", "globex": ""}, "shared": {"*": "results/{tenant}/"}}


@pytest.mark.parametrize(
    ("tenant", "bucket", "prefix"),
    [
        ("acme", "reports", "daily/"),
        ("globex", "reports", ""),
        ("initech", "reports", None),
        ("acme", "shared", "results/acme/"),
        ("acme", "other", None),
    ],
)
def test_result_buckets_have_the_prefix_of_a_tenant(tenant: str, bucket: str, prefix: str | None) -> None:
    assert prefix_of(tenant, bucket, BUCKETS) == prefix


def test_result_buckets_of_a_test_allow_every_bucket_and_prefix() -> None:
    assert location_refusal("acme", ResultLocation("any", "a/b/"), {"*": {"*": ""}}) is None


@pytest.mark.parametrize("prefix", ["daily/", "daily/eu/"])
def test_result_location_within_the_prefix_of_the_tenant_is_allowed(prefix: str) -> None:
    assert location_refusal("acme", ResultLocation("reports", prefix), BUCKETS) is None


@pytest.mark.parametrize("prefix", ["", "dai/", "weekly/", "results/globex/"])
def test_result_location_outside_the_prefix_of_the_tenant_is_rejected_with_the_prefix(prefix: str) -> None:
    for bucket, own in (("reports", "daily/"), ("shared", "results/acme/")):
        said = f"the prefix must start with {own}, the prefix of this tenant in the bucket"
        assert location_refusal("acme", ResultLocation(bucket, prefix), BUCKETS) == said


def test_result_location_in_a_bucket_that_is_not_allowed_is_rejected_with_those_that_are() -> None:
    said = location_refusal("initech", ResultLocation("reports", "daily/"), BUCKETS)
    assert said is not None
    assert "the bucket is not allowed for results of this tenant; use shared, or ask the operator" in said
    assert "setting result_buckets" in (location_refusal("acme", ResultLocation("reports", ""), {}) or "")


def test_result_path_has_job_run_and_attempt() -> None:
    assert result_path("nightly", "20261121T064700Z", 2) == "nightly/20261121T064700Z/2.json"
