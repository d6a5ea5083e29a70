"""A list of the runs of all jobs has each run once, whatever jobs and runs there are."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.runs.document import RunFilter
from duecourse.domain.runs.states import Run, RunState
from duecourse.domain.runs.walk import Place, place_after
from duecourse.ports import InlineExecutor
from duecourse.stores.runs import RunStore
from duecourse.testing.clock import SettableClock
from duecourse.testing.stores import MemoryStores
from duecourse.usecases.runs.all_runs import FURTHER_PARTS, AllRuns, AllRunsPage
from tests.support.examples import examples
from tests.support.jobs import NOON, cursor, job
from tests.support.runs import run

GROUP = 3
PAGES = 3_000
"""The maximum number of pages of a list: each slice is up to a sixteenth as long as the previous one."""

IDS = [f"job-{number}" for number in range(8)]
STATES = (RunState.SUCCEEDED, RunState.DEAD)

offsets = st.one_of(st.integers(-5, 5), st.integers(-3_600, 3_600), st.integers(-90 * 86_400, 86_400), st.just(-86_400))
made = st.lists(
    st.tuples(st.integers(0, 11), offsets, st.sampled_from(["", ".m1", ".m2", ".bx"]), st.sampled_from(STATES)),
    max_size=120,
    unique_by=lambda each: each[:3],
)


class Counted:
    """A store of runs that counts its pages."""

    def __init__(self, store: RunStore) -> None:
        self.store, self.pages = store, 0

    def page(self, *of: str, **how: object) -> list[Run]:
        self.pages += 1
        return self.store.page(*of, **how)  # type: ignore[arg-type]


@examples(200)
@given(
    count=st.integers(0, len(IDS)),
    runs=made,
    limit=st.integers(1, 20),
    state=st.sampled_from([tuple(RunState), STATES[:1]]),
    since=st.none() | offsets,
    until=st.none() | offsets,
    skipped=st.integers(0, 40),
)
def test_all_runs_are_listed_once_and_in_order_down_to_the_reported_instant(
    count: int,
    runs: list[tuple[int, int, str, RunState]],
    limit: int,
    state: tuple[RunState, ...],
    since: int | None,
    until: int | None,
    skipped: int,
) -> None:
    tables, clock = MemoryStores(), SettableClock(NOON)
    jobs, store = tables.job_store(clock), tables.run_store()
    names = []
    for job_id in IDS[:count]:
        one = job(id=job_id)
        assert jobs.create(one, cursor(one))
        names.append(one.id)
    stored = [
        run(job(id=names[of]), in_state, after=after, suffix=suffix)
        for of, after, suffix, in_state in runs
        if of < len(names)
    ]
    for each in stored:
        assert store.write(each, None) is None
    first, end = (None if at is None else int(NOON) + at for at in (since, until))
    expected = [
        each
        for each in in_order(stored)
        if each.state in state
        and (first is None or each.occurrence >= first)
        and (end is None or each.occurrence < end)
    ]
    counted = Counted(store)
    listed = AllRuns(jobs, counted, clock, InlineExecutor(), group=GROUP)  # type: ignore[arg-type]

    def page(place: Place | None) -> AllRunsPage:
        before = counted.pages
        found = listed.page("default", RunFilter(state), limit=limit, place=place, first=first, end=end)
        assert counted.pages - before <= GROUP + FURTHER_PARTS
        assert len(found.items) <= limit
        assert found.items == tuple(in_order(found.items))
        return found

    def check_from(place: Place | None, wanted: list[Run]) -> None:
        got = list[Run]()
        for _ in range(PAGES):
            found = page(place)
            assert not found.single or got + list(found.items) == wanted[: len(got) + len(found.items)]
            got += found.items
            place, floor = found.following, found.complete
            if place is None:
                break
            if floor is not None:
                assert in_order(each for each in got if each.occurrence >= floor) == [
                    each for each in wanted if each.occurrence >= floor
                ]
        assert place is None
        assert in_order(got) == wanted

    check_from(None, expected)
    if expected:  # the id of a run is a cursor, too
        at = min(skipped, len(expected) - 1)
        check_from(place_after(expected[at].name), expected[at + 1 :])


def in_order(runs: Iterable[Run]) -> list[Run]:
    """The newest occurrence first, those of one name by job."""
    return sorted(sorted(runs, key=lambda each: each.job_id), key=lambda each: each.name.local, reverse=True)
