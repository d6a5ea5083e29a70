"""What must hold of how a story ended, whatever fault struck. It shares no code with the domain."""

from collections import Counter
from collections.abc import Iterable
from itertools import combinations

from tests.support.fault_table.ending import Ending, Name, Record
from tests.support.fault_table.story import Fate, Story


def problems(story: Story, found: Ending) -> list[str]:
    """What is wrong; nothing once all is settled."""
    return [
        *_covered(story, found),
        *_called(story, found),
        *_overlapping(story, found),
        *_left(story, found),
        *_dead(found),
        *(f"{second}: its deadline is not announced" for second in _late(story) if not found.deadlines[second, ""]),
    ]


def _late(story: Story) -> Iterable[int]:
    return (second for second, fate in story.runs.items() if fate.late)


def _covered(story: Story, found: Ending) -> Iterable[str]:
    answered = Counter(
        second for second in story.runs for record in found.records if record.name[0] <= second <= record.through
    )
    for second, fate in story.runs.items():
        if answered[second] != 1:
            yield f"{second}: {answered[second]} records answer for it"
        for record in found.records:
            if record.name[0] <= second <= record.through and record.state not in _allowed(story, fate, found):
                yield f"{second}: {record.state} ({record.reason})"
    for record in found.records:
        if record.name[0] not in story.runs or record.through not in story.runs:
            yield f"{record.name}: a record of what is no occurrence"


def _allowed(story: Story, fate: Fate, found: Ending) -> tuple[str, ...]:
    """A run that may be tried once only is dead where its worker was lost in it."""
    return (*fate.states, "DEAD") if story.at_most_once and found.attempt_lost else fate.states


def _called(story: Story, found: Ending) -> Iterable[str]:
    calls = Counter(each.name for each in found.calls)
    fine = Counter(each.name for each in found.calls if each.fine)
    more = 0
    for name, count in calls.items():
        wanted = story.runs[name[0]].calls if name[0] in story.runs else 0
        more += max(count - wanted, 0)
    if more > (1 if found.attempt_lost and not story.at_most_once else 0):
        yield f"{more} calls too many"
    known = {record.name: record for record in found.records}
    for record in found.records:
        if record.state == "SUCCEEDED" and not fine[record.name]:
            yield f"{record.name}: SUCCEEDED without a successful call"
        if record.state == "SKIPPED" and calls[record.name]:
            yield f"{record.name}: SKIPPED, and called"
    yield from (f"{name}: called, and without a record" for name in calls if name not in known)
    attempts = Counter((each.name, each.attempt) for each in found.calls)
    yield from (f"{name}: attempt {number} called twice" for (name, number), n in attempts.items() if n > 1)


def _overlapping(story: Story, found: Ending) -> Iterable[str]:
    """Never two attempts of a run at once, and two runs only where the job allows it."""
    for before, after in combinations(sorted(found.calls, key=lambda each: each.at), 2):
        if after.at < before.until and (before.name == after.name or not story.side_by_side):
            yield f"{after.name}: called while {before.name} may be at work"


def _left(story: Story, found: Ending) -> Iterable[str]:
    if found.job != story.job:
        yield f"the job is {found.job}"
    expected = {"a cursor in the due index"} if story.job == "ACTIVE" else set()
    yield from (f"left: {each}" for each in found.left if each not in expected)


def _dead(found: Ending) -> Iterable[str]:
    dead = {record.name: record for record in found.records if record.state == "DEAD"}
    for name, record in dead.items():
        yield from _announced(name, record, found)
    yield from (f"{name}: a dead letter of a run that is not dead" for name in found.dead_letters if name not in dead)


def _announced(name: Name, record: Record, found: Ending) -> Iterable[str]:
    if not found.notices[name] or not record.notified:
        yield f"{name}: dead and not announced"
    if not found.dead_letters[name]:
        yield f"{name}: dead and not among the dead letters"
