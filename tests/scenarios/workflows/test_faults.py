"""Whatever write of a workflow fails, each of its jobs runs, and runs once."""

from __future__ import annotations

import pytest

from tests.support.fault_table.danger import Aim
from tests.support.fault_table.play import faults_of
from tests.support.workflow_faults import STORIES, WorkflowStory, play

EACH = 25
"""`make test` plays one fault of so many, always the same ones; `make test-all` plays them all."""

NAMES = [story.name for story in STORIES]


def held(story: WorkflowStory, each: int) -> None:
    calm = play(story)
    assert calm.problems == ()
    every = [(point, fault) for point in calm.points for fault in faults_of(point)]
    wrong = {}
    for point, fault in every[NAMES.index(story.name) % each :: each]:
        if problems := play(story, Aim(point, fault)).problems:
            wrong[f"{point}: {fault}"] = problems
    assert wrong == {}


@pytest.mark.parametrize("story", STORIES, ids=NAMES)
def test_a_workflow_ends_as_it_must_whatever_some_faults_strike(story: WorkflowStory) -> None:
    held(story, EACH)


@pytest.mark.extended
@pytest.mark.parametrize("story", STORIES, ids=NAMES)
def test_a_workflow_ends_as_it_must_whatever_fault_strikes(story: WorkflowStory) -> None:
    held(story, 1)
