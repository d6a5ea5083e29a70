"""What a story is: what happens, and what must have become of each occurrence in the end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.support.fault_table.stage import Stage


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of an occurrence. `states`: in which its record may end, the first of them without a fault; `calls`:
    how often its target is called without a fault; `late`: it misses its deadline, which is announced.
    """

    states: tuple[str, ...]
    calls: int
    late: bool = False


RAN = Fate(("SUCCEEDED",), 1)
NOT_RUN = Fate(("SKIPPED",), 0)


@dataclass(frozen=True, slots=True)
class Story:
    """`play` drives a stage to where all is settled without a fault. `runs`: each occurrence that is to be answered
    for, by its second after NOON. `job`: the state in which the job ends. `side_by_side`: its runs may overlap. A lost
    worker delays a run by two and a half minutes: occurrences are further apart than that, and their grace is longer
    where it matters, so that no story ends otherwise by its job's own policies.
    """

    name: str
    tells: str
    play: Callable[[Stage], None]
    runs: Mapping[int, Fate]
    job: str = "COMPLETED"
    at_most_once: bool = False
    side_by_side: bool = False
