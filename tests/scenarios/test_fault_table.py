"""tests/fixtures/faults.md holds: each write of each story meets each fault."""

import pytest

from tests.support.fault_table.page import HEAD, PAGE, WRONG, kept_sections, rows, section
from tests.support.fault_table.stories import STORIES
from tests.support.fault_table.story import Story

NAMES = [story.name for story in STORIES]


@pytest.mark.parametrize("story", STORIES, ids=NAMES)
def test_fault_table_shows_the_effect_of_each_fault_at_each_write_of_a_story(story: Story) -> None:
    assert section(story, rows(story)) == kept_sections()[story.name], "see tests/fixtures/faults.md, or: make faults"


def test_fault_table_contains_only_correct_final_states() -> None:
    assert [name for name, found in kept_sections().items() if WRONG in found] == []


def test_fault_table_contains_all_stories_and_nothing_else() -> None:
    assert list(kept_sections()) == NAMES
    assert PAGE.read_text().startswith(HEAD)
