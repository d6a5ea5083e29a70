"""The right caller for each kind of target."""

from __future__ import annotations

import pytest

from duecourse.adapters.targets import Targets
from duecourse.domain.targets import HttpTarget, LambdaTarget, Succeeded
from tests.support.calls import a_call


class Named:
    """A caller that answers with its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def call(self, call, target):
        return Succeeded(self.name)


@pytest.mark.parametrize(
    ("target", "name"), [(HttpTarget("https://example.test/"), "http"), (LambdaTarget("report"), "lambda")]
)
def test_each_kind_of_target_has_its_caller(target, name):
    targets = Targets(Named("http"), Named("lambda"))  # type: ignore[arg-type]
    assert targets.call(a_call(target)) == Succeeded(name)


def test_the_callers_of_a_worker_are_made_without_a_word_to_aws(clock):
    assert isinstance(Targets.create(private=False, clock=clock), Targets)
