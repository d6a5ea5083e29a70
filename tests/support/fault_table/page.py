"""docs/faults.md: `make faults` writes it, tests/scenarios/test_fault_table.py holds it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.support.client_faults import Fault
from tests.support.fault_table.danger import Aim
from tests.support.fault_table.play import Played, faults_of, play
from tests.support.fault_table.points import Point
from tests.support.fault_table.stories import STORIES
from tests.support.fault_table.story import Story
from tests.support.fault_table.words import in_words

PAGE = Path(__file__).resolve().parents[3] / "docs" / "faults.md"
NOT_ASKED = "-"
WRONG = "**wrong**"

Cells = Mapping[tuple[str, str, str], str]
"""What became of it, by story, write and fault."""

HEAD = """# What a fault changes

<!-- Written by `make faults`; tests/scenarios/test_fault_table.py holds it against the code. -->

Each story below was played once without a fault, to list the writes on its way as the clients ask for them, and then
once more for each write and each fault:

- **dies before, dies after**: the process ends before the write is sent, or after it was made. Its message comes again
  when its visibility ends (150 s); a round of dispatch is followed by the next tick's; a caller of the API asks again.
- **answer lost**: the write is made and no answer comes, at every try of that invocation.
- **refused**: the write is not made and the answer is a fault, at every try of that invocation.
- **twice**: the first answer is lost, the request is sent again, and that answer is heard.

A cell says how the story ended in comparison with the story without a fault: "the same", or what differs. "Called" and
"ended" compare the last call and the end of a run; "all settled" is when nothing was left to be done: no lock, no run
in line, no message. Whatever struck, each occurrence has one record that answers for it, no run was called more often
than its job allows, no two attempts were at work at once, and each dead run was announced, lay among the dead letters
and came back when it was redriven.

Writes are named by component, request and item (see "Data" in ARCHITECTURE.md): `RUN RUNNING` is the record of a run
that begins an attempt, `ACTIVE` the overlap lock, `CURSOR` a claim, `WAKE` a timer, `LINE` and `WATCH` the waiting
line. `delete message that was worked on` is what the event source does after a worker; `no. 2` is the second write of
that kind.
"""


def rows(story: Story) -> Iterator[tuple[Point, dict[Fault, str]]]:
    """The story's rows, each with its cells."""
    calm = play(story)
    for point in calm.points:
        yield point, {fault: cell(story, calm, point, fault) for fault in faults_of(point)}


def cell(story: Story, calm: Played, point: Point, fault: Fault) -> str:
    """What a fault at a write changes."""
    found = play(story, Aim(point, fault))
    assert found.struck, f"{story.name}: {point} was not met again"
    wrong = f"{WRONG} ({'; '.join(found.problems)}): " if found.problems else ""
    return wrong + in_words(calm.ending, found.ending)


def section(story: Story, rows: Iterable[tuple[Point, Mapping[Fault, str]]]) -> str:
    """The story's part of the page."""
    lines = [f"## {story.name}", "", story.tells, "", _row("write", *(fault.value for fault in Fault))]
    lines.append(_row(*("---" for _ in range(1 + len(Fault)))))
    lines += [_row(str(point), *(cells.get(fault, NOT_ASKED) for fault in Fault)) for point, cells in rows]
    return "\n".join(lines) + "\n"


def page(sections: Mapping[str, str]) -> str:
    """The whole page, of sections by story."""
    return "\n".join([HEAD, *(sections[story.name] for story in STORIES if story.name in sections)])


def kept_sections() -> dict[str, str]:
    """The sections of the page as it is kept, by story."""
    if not PAGE.exists():
        return {}
    _, *found = re.split(r"^(?=## )", PAGE.read_text(), flags=re.MULTILINE)
    return {each.partition("\n")[0].removeprefix("## "): each.rstrip("\n") + "\n" for each in found}


def kept() -> dict[tuple[str, str, str], str]:
    """The cells of the page as it is kept."""
    cells: dict[tuple[str, str, str], str] = {}
    story = ""
    for line in PAGE.read_text().splitlines():
        if heading := re.fullmatch(r"## (.+)", line):
            story = heading[1]
        if line.startswith("| ") and not line.startswith(("| ---", "| write")):
            point, *told = (part.strip() for part in line.strip("|").split(" | "))
            cells |= {(story, point, fault): said for fault, said in zip(Fault, told, strict=True) if said != NOT_ASKED}
    return cells


def kept_points(cells: Cells, story: Story) -> list[str]:
    """The writes of a story, as the page has them."""
    return list(dict.fromkeys(point for name, point, _ in cells if name == story.name))


def named(name: str) -> Story:
    """The story of that name."""
    return next(story for story in STORIES if story.name == name)


def _row(*parts: str) -> str:
    return f"| {' | '.join(parts)} |"
