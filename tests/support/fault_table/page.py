"""tests/fixtures/faults.md: `make faults` writes it, tests/scenarios/test_fault_table.py holds it against the code."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.support.client_faults import Fault
from tests.support.fault_table.danger import Aim
from tests.support.fault_table.play import Played, faults_of, play
from tests.support.fault_table.points import Point
from tests.support.fault_table.stories import STORIES
from tests.support.fault_table.story import Story
from tests.support.fault_table.words import NO_EFFECT, REPEATED, effect

PAGE = Path(__file__).resolve().parents[2] / "fixtures" / "faults.md"
WRONG = "**wrong**"
SHORT = {
    Fault.DIES_BEFORE: "before",
    Fault.DIES_AFTER: "after",
    Fault.ANSWER_LOST: "lost",
    Fault.REFUSED: "refused",
    Fault.TWICE: "twice",
}
"""The page's names of faults."""

HEAD = """# Effects of faults, write by write

<!-- Written by `make faults`; tests/scenarios/test_fault_table.py holds it against the code. -->

Each scenario below is run once without a fault, which records its writes as the clients send them. It is then run once
for every combination of a write and one of these faults:

- **before**, **after**: the process dies before the write is sent, or after it is made. The worker's message returns
  when its visibility ends (150 s), the next tick repeats a round of dispatch, and a caller of the API repeats its
  request.
- **lost**: the write is made, but no response arrives, at every try of the invocation.
- **refused**: the write is not made and the response is an error, at every try of the invocation.
- **twice**: the first response is lost, the request is sent again, and the second response arrives.

In every case, each occurrence has one record, no run makes more calls than its job allows, no two attempts run at the
same time, and each dead run is announced, is in the dead-letter queue and can be redriven.

The tables list only the faults that change something, compared with the run without a fault. A delay of less than ten
seconds does not count as a change. Nor does it count if locks, waiting runs and messages are removed up to five minutes
later.

| notation | meaning |
|---|---|
| call +3 min, call -90 s | the last call of a run is later or earlier |
| +1 call, -1 call | there are more or fewer calls of the target; likewise events and notices |
| +1 empty attempt | an attempt counts, but did not call the target |
| end +3 min | a run ends later |
| settled +9 min | locks, waiting runs and messages are removed later |
| request repeated | the caller of the API repeats its request |

Each write is identified by its component (the worker, if none is given), request and item
([items](../../docs/data.md)). `RUN RUNNING` is the record of a run at the start of an attempt, `ACTIVE` is the overlap
lock, `CURSOR` is a claim, and `WAKE` is a timer. `delete message` removes a processed message. Numbers count the writes
of a kind: `PutItem ACTIVE 1, 3` are the first and the third write of this kind.
"""


def rows(story: Story) -> Iterator[tuple[Point, dict[Fault, str]]]:
    """The story's writes, each with the effect of each fault."""
    calm = play(story)
    assert calm.problems == (), f"{story.name}: {calm.problems}"
    for point in calm.points:
        yield point, {fault: cell(story, calm, point, fault) for fault in faults_of(point)}


def cell(story: Story, calm: Played, point: Point, fault: Fault) -> str:
    """What a fault at a write changes."""
    found = play(story, Aim(point, fault))
    assert found.struck, f"{story.name}: {point} was not met again"
    wrong = f"{WRONG} ({'; '.join(found.problems)}): " if found.problems else ""
    return wrong + effect(calm.ending, found.ending)


def section(story: Story, rows: Iterable[tuple[Point, Mapping[Fault, str]]]) -> str:
    """The story's part of the page: a count of the faults without an effect, and a row for each kind of effect."""
    found = list(rows)
    every = [each for _, effects in found for each in effects.values()]
    writes: dict[str, dict[tuple[str, str, str], list[int]]] = defaultdict(lambda: defaultdict(list))
    for point, effects in found:
        if changed := _changed(effects):
            writes[changed][point.component, point.operation, point.what].append(point.ordinal)
    lines = [f"## {story.name}", "", story.tells, ""]
    lines.append(
        f"{len(every)} faults at {len(found)} writes: {every.count(NO_EFFECT)} without an effect, "
        f"{every.count(REPEATED)} with a repeated request only."
    )
    lines += ["", "| writes | effect |", "|---|---|"]
    for changed, kinds in writes.items():
        lines.append(f"| {'; '.join(_named(kind, ordinals) for kind, ordinals in kinds.items())} | {changed} |")
    return "\n".join(lines) + "\n"


def _changed(effects: Mapping[Fault, str]) -> str:
    faults: dict[str, list[str]] = defaultdict(list)
    for fault, found in effects.items():
        if found not in (NO_EFFECT, REPEATED):
            faults[found].append(SHORT[fault])
    return " · ".join(f"{', '.join(names)}: {found}" for found, names in faults.items())


def _named(kind: tuple[str, str, str], ordinals: list[int]) -> str:
    component, operation, what = kind
    numbers = "" if ordinals == [1] else f" {', '.join(map(str, ordinals))}"
    return f"{'' if component == 'worker' else f'{component}: '}{operation} {what}".rstrip() + numbers


def page(sections: Mapping[str, str]) -> str:
    """The whole page, of sections by story."""
    return "\n".join([HEAD, *(sections[story.name] for story in STORIES if story.name in sections)])


def kept_sections() -> dict[str, str]:
    """The sections of the page as it is kept, by story."""
    if not PAGE.exists():
        return {}
    _, *found = re.split(r"^(?=## )", PAGE.read_text(), flags=re.MULTILINE)
    return {each.partition("\n")[0].removeprefix("## "): each.rstrip("\n") + "\n" for each in found}


def named(name: str) -> Story:
    """The story of that name."""
    return next(story for story in STORIES if story.name == name)
