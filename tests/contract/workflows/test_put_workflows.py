"""Workflows are put in several writes: each may fail, and others write at the same time."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from duecourse.domain.jobs.job import Job, JobState, Lane, Reservation
from duecourse.domain.targets.targets import HttpTarget, WorkflowTarget
from duecourse.domain.tenants.seats import Seats
from duecourse.domain.workflows.check import workflow_fields
from duecourse.domain.workflows.graph import Graph, Step, WorkflowRef
from duecourse.ports import NoAnswerError
from duecourse.stores.workflows import WorkflowStore
from duecourse.testing.faults import answering, around, before, failing
from duecourse.testing.stores import Stores
from duecourse.usecases.jobs.change import Draft
from duecourse.usecases.jobs.job_errors import ANYTHING, JobChangedError, JobExistsError, JobVersionError, Precondition
from duecourse.usecases.jobs.membership import CLAIM_SECONDS, RESERVED_SECONDS, StepError
from duecourse.usecases.workflows.manage import (
    GRAPH_KEPT_LONGER_DAYS,
    CancelRuns,
    Claims,
    ManageWorkflows,
    NoWorkflowError,
    WorkflowDraft,
    WorkflowInvalidError,
    WorkflowPut,
)
from duecourse_schedules import ScheduleSpec
from tests.support.jobs import NOON
from tests.support.parts import with_parts
from tests.support.tables import Tables
from tests.support.world import Office, World

RETENTION_DAYS = 90


class Lost(Exception):
    """The process is gone."""


def interrupted(store: WorkflowStore, at: str, happens: Callable[[], object]) -> WorkflowStore:
    """A store before one of whose writes (`at`) something happens, once."""
    between: WorkflowStore = around(store, **{at: before(happens, times=1)})
    return between


def lost() -> None:
    raise Lost


class Desk:
    """Workflows are put and deleted here."""

    def __init__(self, tables: Stores) -> None:
        self.tables = tables
        self.world = World(tables)
        self.office = Office(self.world)

    def managing(self, store: WorkflowStore | None = None) -> ManageWorkflows:
        parts = self.world.wiring()
        if store is not None:
            parts.workflows = store
        return ManageWorkflows(parts, self.office.api.editing, CancelRuns(self.world.wiring()))

    def put(
        self,
        *names: str,
        store: Any = None,
        inline: Sequence[str] | None = None,
        reach: Callable[[Job | Draft], None] = lambda _: None,
        expected: Precondition = ANYTHING,
        **fields: Any,
    ) -> WorkflowPut:
        managing = self.managing(store)
        before = managing.standing("default", "nightly", expected)
        asked = replace(draft(names, inline, **fields), reach=reach)
        return managing.put("default", "nightly", asked, before, expected)

    def as_read(self) -> Precondition:
        """The workflow must be as it is now (If-Match)."""
        return Precondition(frozenset({self.job("nightly").version}))

    def job(self, name: str) -> Job:
        found = self.world.jobs.get("default", name)
        assert found is not None
        return found

    def create(self, name: str) -> None:
        self.office.api.jobs.create(plain(name))

    def expiry(self, graph: Graph) -> int | None:
        """When the graph's item may be removed."""
        found = {
            (item["PK"]["S"], item["SK"]["S"]): item
            for page in self.tables.client.get_paginator("scan").paginate(TableName=self.tables.jobs)
            for item in page["Items"]
        }
        ref = self.world.workflows.put_graph("default", "other", graph)  # its hash
        item = found["JOB#default#nightly", f"GRAPH#{ref.graph}"]
        return int(item["expires_at"]["N"]) if "expires_at" in item else None


def plain(name: str) -> Draft:
    return Draft(tenant="default", id=name, schedule=ScheduleSpec(""), target=HttpTarget("https://example.com/"))


def draft(names: Sequence[str], inline: Sequence[str] | None = None, **fields: Any) -> WorkflowDraft:
    """A chain of these jobs, all or those of them defined with it."""

    def definition(graph: str) -> Draft:
        return Draft(
            **{"tenant": "default", "id": "nightly", "schedule": ScheduleSpec("0 2 * * *")}
            | workflow_fields(graph)
            | fields
        )

    steps = [
        Step(id=name, after=(before,) if before else ()) for before, name in zip(("", *names), names, strict=False)
    ]
    return WorkflowDraft(
        tuple(steps), definition, {name: plain(name) for name in (names if inline is None else inline)}
    )


@pytest.fixture
def desk(any_tables: Stores) -> Desk:
    return Desk(any_tables)


@pytest.fixture
def dynamodb_desk(dynamodb_tables: Tables) -> Desk:
    return Desk(dynamodb_tables)


def test_put_workflows_request_whose_precondition_fails_concurrently_changes_nothing(desk: Desk) -> None:
    desk.put("extract", "load")
    extract, expected = desk.job("extract"), desk.as_read()
    changed = interrupted(desk.world.workflows, "jobs", lambda: desk.office.edit("nightly", name="Other"))
    with pytest.raises(JobVersionError):
        desk.put("extract", "load", "mail", store=changed, expected=expected)
    assert desk.job("extract") == extract
    assert desk.world.jobs.get("default", "mail") is None


def test_put_workflows_precondition_holds_from_the_first_write_to_the_switch(desk: Desk) -> None:
    desk.put("extract", "load")
    read, refused = desk.as_read(), list[Exception]()

    def edit() -> None:
        """Another request, while the jobs are written and the workflow is not switched yet."""
        try:
            desk.office.edit("nightly", name="Other")
        except JobChangedError as error:
            refused.append(error)

    between = interrupted(desk.world.workflows, "put_graph", edit)
    desk.put("extract", "load", "mail", store=between, expected=read)
    assert len(refused) == 1
    assert desk.job("mail").workflow == "nightly"
    assert desk.office.edit("nightly", name="Other").changed  # nothing is reserved any more


@pytest.mark.parametrize("what", ["delete", "replace"])
def test_put_workflows_concurrent_deletion_or_replacement_is_refused_during_a_conditional_request(
    desk: Desk, what: str
) -> None:
    desk.put("extract", "load")
    read = desk.as_read()

    def other() -> None:
        with pytest.raises(JobChangedError):
            desk.office.delete("nightly") if what == "delete" else desk.put("extract", name="Other")

    between = interrupted(desk.world.workflows, "put_graph", other)
    assert desk.put("extract", "load", "mail", store=between, expected=read).changed


def test_put_workflows_concurrent_pause_during_a_conditional_request_persists(desk: Desk) -> None:
    desk.put("extract", "load")
    read = desk.as_read()
    between = interrupted(desk.world.workflows, "put_graph", lambda: desk.office.pause("nightly"))
    desk.put("extract", "load", "mail", store=between, expected=read)
    assert (desk.job("nightly").state, desk.job("mail").workflow) == (JobState.PAUSED, "nightly")


def test_put_workflows_id_is_reserved_for_a_request_that_expects_no_workflow(desk: Desk) -> None:
    def other() -> None:
        with pytest.raises(JobExistsError):
            desk.create("nightly")
        assert desk.world.jobs.get("default", "nightly") is None

    between = interrupted(desk.world.workflows, "put_graph", other)
    desk.put("extract", store=between, expected=Precondition(absent=True))
    assert desk.job("extract").workflow == "nightly"
    assert desk.job("nightly").reserved is None


def test_put_workflows_concurrently_created_workflow_refuses_a_request_that_expects_none(desk: Desk) -> None:
    created = interrupted(desk.world.workflows, "jobs", lambda: desk.put("load"))
    with pytest.raises(JobVersionError):
        desk.put("extract", store=created, expected=Precondition(absent=True))
    assert desk.world.jobs.get("default", "extract") is None


@pytest.mark.parametrize(
    ("exists", "at"),
    [(True, "claim"), (True, "put_graph"), (True, "expire_graph"), (False, "claim"), (False, "put_graph")],
)
def test_put_workflows_repeated_conditional_request_continues_after_a_crash(
    desk: Desk, at: str, *, exists: bool
) -> None:
    class Died(BaseException):
        """Nothing runs after it."""

    def die() -> None:
        raise Died

    if exists:
        desk.put("load")
    read = desk.as_read() if exists else Precondition(absent=True)
    managing = desk.managing(interrupted(desk.world.workflows, at, die))
    not_released = around(desk.world.jobs, release=answering(None))
    managing = with_parts(managing, jobs=not_released)
    before, asked = managing.standing("default", "nightly", read), draft(["extract", "mail"])
    with pytest.raises(Died):
        managing.put("default", "nightly", asked, before, read)
    if at == "expire_graph":  # switched
        assert desk.job("mail").workflow == "nightly"
        return
    with pytest.raises(JobExistsError if not exists else JobChangedError):
        desk.create("nightly") if not exists else desk.office.edit("nightly", name="Other")
    desk.put("extract", "mail", expected=read)
    assert desk.job("mail").workflow == "nightly"


def test_put_workflows_deletion_frees_the_steps_although_the_id_is_reserved_again(desk: Desk) -> None:
    desk.put("extract")
    gone = desk.office.delete("nightly")
    assert desk.world.jobs.reserve("default", "nightly", None, Reservation("a", NOON + RESERVED_SECONDS))
    desk.managing().deleted(gone)
    assert desk.job("extract").workflow is None


@pytest.mark.parametrize("exists", [True, False])
def test_put_workflows_renewed_reservation_of_the_same_request_outlasts_the_first(desk: Desk, *, exists: bool) -> None:
    if exists:
        desk.put("extract")
    jobs, first, second = desk.world.jobs, Reservation("a", NOON + 60), Reservation("a", NOON + 61)
    assert jobs.reserve("default", "nightly", desk.job("nightly") if exists else None, first)
    assert jobs.reserve("default", "nightly", desk.job("nightly") if exists else None, second)
    other = replace(second, by="b")
    jobs.release("default", "nightly", first)
    if exists:
        assert desk.job("nightly").reserved == second
    assert exists or not jobs.reserve("default", "nightly", None, other)
    jobs.release("default", "nightly", second)
    assert jobs.reserve("default", "nightly", desk.job("nightly") if exists else None, other)


def test_put_workflows_change_is_refused_where_the_same_request_renewed_its_reservation(desk: Desk) -> None:
    desk.put("extract")
    jobs, first, second = desk.world.jobs, Reservation("a", NOON + 60), Reservation("a", NOON + 61)
    assert jobs.reserve("default", "nightly", desk.job("nightly"), first)
    read, cursor = desk.job("nightly"), jobs.get_cursor("default", "nightly")
    assert cursor is not None
    assert jobs.reserve("default", "nightly", read, second)
    assert not jobs.change(read, cursor, replace(read, name="Other"), cursor)


def test_put_workflows_request_is_answered_although_its_reservation_cannot_be_released(
    dynamodb_desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    class Tombstone:
        def __getattr__(self, name: str) -> Any:
            raise NoAnswerError("UpdateItem: refused")

    store = replace(dynamodb_desk.world.tables, client=Tombstone()).job_store(dynamodb_desk.world.clock)
    store.release("default", "nightly", Reservation("a", NOON))
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [("WARNING", "reservation_left")]


def test_put_workflows_reserved_id_holds_no_seat(dynamodb_desk: Desk) -> None:
    jobs = dynamodb_desk.world.jobs
    assert jobs.reserve("default", "nightly", None, Reservation("a", NOON + 60))
    seats = Seats("default", Lane.NORMAL, ("nightly",))
    assert jobs.seats.holders(seats) == {"nightly": None}


@pytest.mark.parametrize("exists", [True, False])
def test_put_workflows_reservation_of_an_unfinished_request_lasts_a_minute(desk: Desk, *, exists: bool) -> None:
    if exists:
        desk.put("extract")
    job = desk.job("nightly") if exists else None
    assert desk.world.jobs.reserve("default", "nightly", job, Reservation("a", NOON + RESERVED_SECONDS))
    assert not desk.world.jobs.reserve("default", "nightly", job, Reservation("b", NOON + RESERVED_SECONDS))
    with pytest.raises(JobChangedError):
        desk.put("load", expected=desk.as_read() if exists else Precondition(absent=True))
    assert desk.world.jobs.get("default", "load") is None
    desk.world.clock.set(NOON + RESERVED_SECONDS)
    desk.put("load", expected=desk.as_read() if exists else Precondition(absent=True))
    assert desk.job("load").workflow == "nightly"


@pytest.mark.parametrize("at", ["claim", "put_graph", "expire_graph"])
def test_put_workflows_repeated_request_continues_where_the_first_stopped(desk: Desk, at: str) -> None:
    desk.put("extract", "load")
    with pytest.raises(Lost):
        desk.put("extract", "mail", store=interrupted(desk.world.workflows, at, lost))
    desk.put("extract", "mail")
    names = {name: desk.job(name).workflow for name in ("extract", "mail")}
    assert names == {"extract": "nightly", "mail": "nightly"}
    assert list(desk.managing().get("default", "nightly").graph.numbers) == ["extract", "mail"]
    desk.world.clock.set(NOON + CLAIM_SECONDS)
    assert desk.office.delete("load").id == "load"


@pytest.mark.parametrize("at", ["claim", "put_graph"])
def test_put_workflows_are_unchanged_until_the_switch(desk: Desk, at: str) -> None:
    desk.put("extract", "load")
    before = desk.job("nightly")
    with pytest.raises(Lost):
        desk.put("extract", "mail", store=interrupted(desk.world.workflows, at, lost))
    assert desk.job("nightly") == before
    with pytest.raises(StepError):
        desk.office.delete("load")
    assert desk.office.delete("mail").id == "mail"  # it is free again


def test_put_workflows_concurrently_edited_job_becomes_a_step_with_the_edit(desk: Desk) -> None:
    desk.create("extract")

    def edit() -> None:
        desk.office.edit("extract", name="Renamed")

    desk.put("extract", inline=(), store=interrupted(desk.world.workflows, "claim", edit))
    assert (desk.job("extract").name, desk.job("extract").workflow) == ("Renamed", "nightly")


def test_put_workflows_job_that_concurrently_leaves_the_reach_of_the_caller_becomes_no_step(desk: Desk) -> None:
    class OutOfReachError(Exception):
        pass

    def reach(job: Job | Draft) -> None:
        if job.name == "Theirs":
            raise OutOfReachError

    def another() -> None:
        desk.office.delete("extract")
        desk.office.api.jobs.create(replace(plain("extract"), name="Theirs"))

    desk.create("extract")
    with pytest.raises(OutOfReachError):
        desk.put("extract", inline=(), reach=reach, store=interrupted(desk.world.workflows, "claim", another))
    assert desk.job("extract").workflow is None


def test_put_workflows_job_cannot_be_deleted_between_claim_and_switch(desk: Desk) -> None:
    desk.put("extract", "load")

    def delete() -> None:
        with pytest.raises(StepError):
            desk.office.delete("mail")

    desk.put("extract", "mail", store=interrupted(desk.world.workflows, "put_graph", delete))
    assert desk.job("mail").workflow == "nightly"


@pytest.mark.parametrize("at", ["claim", "put_graph"])
def test_put_workflows_job_belongs_to_one_workflow_whenever_another_claims_it(desk: Desk, at: str) -> None:
    desk.create("extract")
    refused = []

    def other() -> None:
        try:
            desk.managing().put("default", "other", replace(draft(["extract"], ()), definition=_other), None)
        except WorkflowInvalidError as error:
            refused.append(error)

    try:
        desk.put("extract", inline=(), store=interrupted(desk.world.workflows, at, other))
    except WorkflowInvalidError as error:
        refused.append(error)
    assert len(refused) == 1
    named = [name for name in ("nightly", "other") if desk.world.jobs.get("default", name) is not None]
    assert named == [desk.job("extract").workflow]


def test_put_workflows_refused_request_leaves_every_job_unchanged(desk: Desk) -> None:
    for name in ("extract", "load"):
        desk.create(name)

    def other() -> None:
        desk.managing().put("default", "other", replace(draft(["load"], ()), definition=_other), None)

    with pytest.raises(WorkflowInvalidError, match="is a step of workflow other"):
        desk.put("extract", "load", "mail", inline=["mail"], store=interrupted(desk.world.workflows, "claim", other))
    assert desk.job("extract").workflow is None
    assert desk.world.jobs.get("default", "mail") is None
    assert desk.world.jobs.get("default", "nightly") is None


def test_put_workflows_refused_request_keeps_the_claims_of_a_concurrent_one(desk: Desk) -> None:
    desk.create("extract")

    def refused() -> None:
        failing_store = around(desk.world.workflows, put_graph=failing(Lost()))
        with pytest.raises(Lost):
            desk.put("extract", inline=(), store=failing_store)

    desk.put("extract", inline=(), store=interrupted(desk.world.workflows, "put_graph", refused))
    assert desk.job("extract").workflow == "nightly"


def test_put_workflows_refused_request_keeps_the_later_claims_of_a_concurrent_one(desk: Desk) -> None:
    desk.create("extract")
    workflows, clock, reach = desk.world.workflows, desk.world.clock, lambda _: None
    steps = draft(["extract"], ()).steps
    first, later = (
        Claims(desk.managing().editing, workflows, clock, "default", "nightly", steps, reach) for _ in range(2)
    )
    for claims in (first, later):
        claims.make({"extract": desk.job("extract")}, frozenset())
        clock.advance(1)
    first.release()
    assert desk.job("extract").workflow == "nightly"


def test_put_workflows_claim_of_an_unfinished_request_lasts_a_minute(desk: Desk) -> None:
    desk.create("extract")
    assert desk.world.workflows.claim([desk.job("extract")], "nightly", at=NOON) == []
    other = replace(draft(["extract"], ()), definition=_other)
    with pytest.raises(WorkflowInvalidError, match="is a step of workflow nightly"):
        desk.managing().put("default", "other", other, None)
    desk.world.clock.set(NOON + CLAIM_SECONDS)
    desk.managing().put("default", "other", other, None)
    assert desk.job("extract").workflow == "other"


def test_put_workflows_concurrently_deleted_job_leaves_the_workflow_unchanged(desk: Desk) -> None:
    desk.create("extract")

    def delete() -> None:
        desk.office.delete("extract")

    with pytest.raises(WorkflowInvalidError, match="there is no job extract"):
        desk.put("extract", inline=(), store=interrupted(desk.world.workflows, "claim", delete))
    assert desk.world.jobs.get("default", "nightly") is None


def test_put_workflows_only_one_of_two_workflows_claims_a_job(desk: Desk) -> None:
    desk.create("extract")

    def other() -> None:
        definition = replace(draft(["extract"], ()), definition=_other)
        desk.managing().put("default", "other", definition, None)

    with pytest.raises(WorkflowInvalidError, match="is a step of workflow other"):
        desk.put("extract", inline=(), store=interrupted(desk.world.workflows, "claim", other))
    assert desk.job("extract").workflow == "other"


def _other(graph: str) -> Draft:
    return replace(draft(["extract"], ()).definition(graph), id="other")


def test_put_workflows_job_concurrently_created_under_the_workflow_id_is_unchanged(desk: Desk) -> None:
    def take() -> None:
        desk.create("nightly")

    with pytest.raises(NoWorkflowError):
        desk.put("extract", store=interrupted(desk.world.workflows, "claim", take))
    assert not isinstance(desk.job("nightly").target, WorkflowTarget)


def test_put_workflows_replaced_graph_outlasts_the_records_of_its_runs_and_a_restored_one_is_kept(
    dynamodb_desk: Desk,
) -> None:
    first = dynamodb_desk.put("extract", "load").graph
    second = dynamodb_desk.put("extract").graph
    at = int(NOON) + (RETENTION_DAYS + GRAPH_KEPT_LONGER_DAYS) * 86_400
    assert (dynamodb_desk.expiry(first), dynamodb_desk.expiry(second)) == (at, None)
    dynamodb_desk.put("extract", "load")
    assert (dynamodb_desk.expiry(first), dynamodb_desk.expiry(second)) == (None, at)


def test_put_workflows_graph_concurrently_replaced_by_another_request_is_written_again(dynamodb_desk: Desk) -> None:
    first = dynamodb_desk.put("extract", "load").graph

    def replaced() -> None:
        dynamodb_desk.put("extract")

    put = dynamodb_desk.put(
        "extract", "load", name="Other", store=interrupted(dynamodb_desk.world.workflows, "claim", replaced)
    )
    assert put.view.job.name == "Other"
    assert dynamodb_desk.expiry(first) is None
    assert dynamodb_desk.job("load").workflow == "nightly"


def test_put_workflows_restored_graph_is_not_expired_by_a_late_replacement(dynamodb_desk: Desk) -> None:
    first = dynamodb_desk.put("extract", "load").graph
    late = interrupted(dynamodb_desk.world.workflows, "expire_graph", lambda: dynamodb_desk.put("extract", "load"))
    dynamodb_desk.put("extract", store=late)
    assert dynamodb_desk.expiry(first) is None


def test_put_workflows_graph_expiring_just_before_the_switch_to_it_is_kept(dynamodb_desk: Desk) -> None:
    first = dynamodb_desk.put("extract", "load").graph
    put = dynamodb_desk.put("extract").graph

    def expired(put_graph: Callable[..., WorkflowRef], *given: Any) -> WorkflowRef:
        ref = put_graph(*given)
        if dynamodb_desk.managing().get("default", "nightly").graph == put:
            dynamodb_desk.world.workflows.expire_graph("default", ref, dynamodb_desk.job("nightly"), at=int(NOON))
        return ref

    dynamodb_desk.put("extract", "load", store=around(dynamodb_desk.world.workflows, put_graph=expired))
    assert dynamodb_desk.expiry(first) is None


def test_put_workflows_late_deletion_does_not_affect_the_recreated_workflow(dynamodb_desk: Desk) -> None:
    first = dynamodb_desk.put("extract", "load").graph
    gone = dynamodb_desk.office.delete("nightly")
    late = interrupted(dynamodb_desk.world.workflows, "expire_graph", lambda: dynamodb_desk.put("extract", "load"))
    dynamodb_desk.managing(late).deleted(gone)
    assert dynamodb_desk.expiry(first) is None
    assert dynamodb_desk.job("load").workflow == "nightly"


def test_put_workflows_concurrently_removed_step_becomes_a_step_again(desk: Desk) -> None:
    desk.put("extract", "load")
    switched = interrupted(desk.world.workflows, "put_graph", lambda: desk.put("extract"))
    desk.put("extract", "load", "mail", store=switched)
    assert {name: desk.job(name).workflow for name in ("extract", "load", "mail")} == dict.fromkeys(
        ("extract", "load", "mail"), "nightly"
    )


def test_put_workflows_late_release_does_not_free_steps_that_were_added_again(desk: Desk) -> None:
    desk.put("extract", "load")
    late = interrupted(desk.world.workflows, "free", lambda: desk.put("extract", "load"))
    desk.put("extract", store=late)
    assert desk.job("load").workflow == "nightly"


@pytest.mark.parametrize("deleted", [False, True])
def test_put_workflows_release_keeps_the_claim_of_a_request_that_has_not_switched_yet(
    desk: Desk, *, deleted: bool
) -> None:
    desk.put("extract", "load")
    workflows, clock = desk.world.workflows, desk.world.clock

    def claim() -> None:
        clock.advance(1)
        assert workflows.claim([desk.job("load")], "nightly", at=clock.now()) == []

    store = interrupted(workflows, "expire_graph", claim)
    if deleted:
        desk.managing(store).deleted(desk.office.delete("nightly"))
    else:
        desk.put("extract", store=store)
    assert desk.job("load").workflow == "nightly"


def test_put_workflows_replace_a_missing_graph(dynamodb_desk: Desk) -> None:
    put = dynamodb_desk.put("extract", "load")
    target = put.view.job.target
    assert isinstance(target, WorkflowTarget)
    key = {"PK": {"S": "JOB#default#nightly"}, "SK": {"S": f"GRAPH#{target.graph}"}}
    dynamodb_desk.tables.client.delete_item(TableName=dynamodb_desk.tables.jobs, Key=key)
    fresh = Desk(dynamodb_desk.tables)
    fresh.put("extract", "load")
    assert list(Desk(dynamodb_desk.tables).managing().get("default", "nightly").graph.numbers) == ["extract", "load"]


def test_put_workflows_request_fails_after_persistent_conflicts(desk: Desk) -> None:
    desk.create("extract")
    refusing = around(desk.world.workflows, claim=lambda _, jobs, *__, **___: [job.id for job in jobs])
    with pytest.raises(JobChangedError):
        desk.put("extract", inline=(), store=refusing)
