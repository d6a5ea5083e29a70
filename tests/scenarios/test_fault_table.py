"""docs/faults.md is what happens: each write of each story meets each fault."""

from __future__ import annotations

import pytest

from tests.support.fault_table.page import WRONG, Cells, cell, kept, kept_points
from tests.support.fault_table.play import faults_of, play
from tests.support.fault_table.stories import STORIES
from tests.support.fault_table.story import Story

NAMES = [story.name for story in STORIES]


@pytest.fixture(scope="module")
def cells() -> Cells:
    """The page."""
    return kept()


@pytest.mark.parametrize("story", STORIES, ids=NAMES)
def test_the_page_has_each_write_of_a_story_and_says_what_each_fault_changes(story: Story, cells: Cells) -> None:
    calm = play(story)
    assert calm.problems == ()
    assert [str(point) for point in calm.points] == kept_points(cells, story), "write the page anew: make faults"
    every = [(point, fault) for point in calm.points for fault in faults_of(point)]
    found = {(point, fault): cell(story, calm, point, fault) for point, fault in every}
    assert found == {at: cells[story.name, str(at[0]), at[1]] for at in found}, "see docs/faults.md"


def test_whatever_fault_strikes_everything_ends_as_it_must(cells: Cells) -> None:
    assert {at: said for at, said in cells.items() if said.startswith(WRONG)} == {}


def test_the_page_has_all_stories_and_nothing_else(cells: Cells) -> None:
    assert list(dict.fromkeys(story for story, _, _ in cells)) == NAMES
