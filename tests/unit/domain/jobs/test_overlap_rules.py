"""The rules for overlap: each has its traits, and the API takes its word."""

import pytest

from duecourse.api.answers import job_document
from duecourse.api.bodies.definition_body import OVERLAP_BODIES
from duecourse.domain.jobs.job import Job, Overlap, OverlapRule
from duecourse.usecases.jobs.view import JobView
from tests.support.jobs import job
from tests.support.posting import posted, read


def test_overlap_rules_define_traits_for_each_value() -> None:
    assert all(isinstance(each.rule, OverlapRule) for each in Overlap)


@pytest.mark.parametrize("overlap", Overlap)
def test_overlap_rules_have_wait_queue_traits_only_if_runs_wait(overlap: Overlap) -> None:
    rule = overlap.rule
    assert rule.alone or not rule.waits
    assert rule.waits or not (rule.only_newest or rule.preempts)


@pytest.mark.parametrize("overlap", Overlap)
def test_overlap_rules_can_be_posted_by_their_api_names(overlap: Overlap) -> None:
    assert read(posted(overlap=overlap.value)).overlap is overlap


def test_overlap_rules_whose_runs_may_be_limited_are_posted_with_the_limit() -> None:
    limited = [each for each in Overlap if each.rule.limits is not None]
    assert [each.value for each in limited] == [*OVERLAP_BODIES]
    for overlap in limited:
        draft = read(posted(overlap={overlap.value: 3}))
        assert draft.overlap is overlap
        found = {"queue_limit": draft.queue_limit, "active_limit": draft.active_limit}
        assert found == {"queue_limit": None, "active_limit": None} | {overlap.rule.limits: 3}
        assert job_document(JobView(draft_job(overlap, 3), None))["overlap"] == {overlap.value: 3}


def draft_job(overlap: Overlap, limit: int) -> Job:
    assert overlap.rule.limits is not None
    return job(overlap=overlap, **{overlap.rule.limits: limit})


def test_overlap_rules_overlap_that_is_allowed_within_a_limit_lets_the_other_runs_wait() -> None:
    assert not job(overlap=Overlap.ALLOW).rule.waits
    assert not job(overlap=Overlap.ALLOW).needs_lock
    limited = job(overlap=Overlap.ALLOW, active_limit=3)
    assert limited.rule.waits
    assert limited.needs_lock
    assert not limited.rule.alone
