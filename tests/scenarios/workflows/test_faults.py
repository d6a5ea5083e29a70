"""Whatever write of a workflow fails, each of its jobs runs, and runs once."""

import pytest

from tests.support.fault_table.danger import Aim
from tests.support.fault_table.play import faults_of
from tests.support.workflow_faults import STORIES, WorkflowStory, play

BY_NAME = {story.name: story for story in STORIES}


@pytest.mark.parametrize("story", STORIES, ids=BY_NAME)
def test_workflow_faults_never_prevent_a_correct_end_of_the_workflow(story: WorkflowStory) -> None:
    calm = play(story)
    assert calm.problems == ()
    before = () if story.after is None else play(BY_NAME[story.after]).points
    assert calm.points[: len(before)] == before
    wrong = {}
    every = [(point, fault) for point in calm.points[len(before) :] for fault in faults_of(point)]
    for point, fault in every:
        if problems := play(story, Aim(point, fault)).problems:
            wrong[f"{point}: {fault}"] = problems
    assert wrong == {}
