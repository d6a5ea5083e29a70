"""The field `results` of a posted job."""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.api.bodies.validation import read_job
from duecourse.api.problems import Problem
from duecourse.domain.jobs.document import definition_document
from duecourse.domain.jobs.job import ResultLocation
from tests.support.posting import RULES, check, posted

BUCKETS = {"reports": {"acme": "daily/"}, "shared": {"*": "{tenant}/"}}
OF_ACME = replace(RULES, tenant="acme", result_buckets=BUCKETS)


def fault_of(results: Any) -> tuple[str | None, str]:
    with pytest.raises(Problem) as refused:
        read_job(posted(results=results), "acme", OF_ACME, check)
    (fault,) = refused.value.faults
    return fault.pointer, fault.detail


@pytest.mark.parametrize(
    ("results", "location"),
    [
        ({"bucket": "reports"}, ResultLocation("reports", "daily/")),
        ({"bucket": "reports", "prefix": "daily/eu/"}, ResultLocation("reports", "daily/eu/")),
        ({"bucket": "shared"}, ResultLocation("shared", "acme/")),
        (None, None),
    ],
)
def test_results_field_has_the_tenants_prefix_by_default(results: Any, location: ResultLocation | None) -> None:
    draft = read_job(posted(results=results), "acme", OF_ACME, check)
    assert draft.results == location
    assert definition_document(draft)["results"] == (
        location and {"bucket": location.bucket, "prefix": location.prefix}
    )


@pytest.mark.parametrize(
    ("results", "place", "said"),
    [
        (
            {"bucket": "payroll"},
            "/results/bucket",
            "is not allowed for results of this tenant; use reports, shared, or",
        ),
        ({"bucket": "reports", "prefix": "x/"}, "/results/prefix", "must start with daily/, the prefix of this tenant"),
        ({"bucket": "reports", "prefix": "daily"}, "/results/prefix", "each followed by a slash: reports/daily/"),
        ({"bucket": "reports", "prefix": "daily/../"}, "/results/prefix", "must be folders of letters"),
        ({"bucket": "Reports!"}, "/results/bucket", "must be the name of a bucket"),
        ({"prefix": "daily/"}, "/results/bucket", "is required: write the name of the bucket"),
        ({"bucket": "reports", "prefixes": "x/"}, "/results/prefixes", "did you mean prefix?"),
        ("reports", "/results", "must be an object"),
    ],
)
def test_results_field_that_is_not_valid_is_rejected_with_a_remedy(results: Any, place: str, said: str) -> None:
    pointer, detail = fault_of(results)
    assert pointer == place
    assert said in detail


def test_results_field_without_an_allowed_bucket_names_the_setting() -> None:
    with pytest.raises(Problem) as refused:
        read_job(posted(results={"bucket": "reports"}), "acme", replace(RULES, tenant="acme", result_buckets={}), check)
    (fault,) = refused.value.faults
    assert fault.detail.endswith("; ask the operator to add it to the stage's setting result_buckets")
