"""The rules for overlap: each has its traits, and the API takes its word."""

import pytest

from duecourse.api.bodies.definition_body import QueueBody
from duecourse.domain.jobs.job import Overlap, OverlapRule
from tests.support.posting import posted, read


def test_overlap_rules_have_traits_each() -> None:
    assert all(isinstance(each.rule, OverlapRule) for each in Overlap)


@pytest.mark.parametrize("overlap", Overlap)
def test_overlap_rules_do_only_in_line_what_concerns_a_line(overlap: Overlap) -> None:
    rule = overlap.rule
    assert rule.alone or not rule.waits
    assert rule.waits or not (rule.only_newest or rule.preempts or rule.limited)


@pytest.mark.parametrize("overlap", Overlap)
def test_overlap_rules_are_posted_by_their_words(overlap: Overlap) -> None:
    assert read(posted(overlap=overlap.value)).overlap is overlap


def test_overlap_rules_whose_line_may_be_bounded_are_posted_with_the_bound() -> None:
    limited = [each for each in Overlap if each.rule.limited]
    assert set(limited) == set(QueueBody.model_fields)
    for overlap in limited:
        draft = read(posted(overlap={overlap.value: 3}))
        assert (draft.overlap, draft.queue_limit) == (overlap, 3)
