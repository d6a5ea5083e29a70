"""`duecourse mcp`, as the SDK's own client uses it over standard input and output, beside a stage in memory."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from duecourse.testing import Scheduler
from duecourse.version import VERSION
from tests.support.console import served_console

pytestmark = pytest.mark.extended

Call = Callable[..., Awaitable[dict[str, Any]]]

JOB = {"schedule": "0 2 * * *", "target": {"type": "http", "url": "https://example.com/hook"}}


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    with Scheduler("2026-11-21T12:00:00Z") as scheduler:
        scheduler.client.create_job(JOB | {"id": "nightly", "name": "Report"})  # type: ignore[arg-type]
        scheduler.client.create_job(JOB | {"id": "hourly", "schedule": "0 * * * *"})  # type: ignore[arg-type]
        yield scheduler


def assisted(scheduler: Scheduler, work: Callable[[Client], Awaitable[None]], *options: str) -> None:
    """Do this with a client of the command."""

    async def main(address: str) -> None:
        command = Path(sys.executable).with_name("duecourse")
        started = StdioServerParameters(command=str(command), args=["mcp", "--api", address, *options])
        async with Client(started) as client:
            await work(client)

    with served_console(scheduler, {}) as served:
        asyncio.run(main(served.url.removesuffix("/console")))


async def called(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refused(client: Client, name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error
    return str(result.content)


def confirmed(plan: dict[str, Any]) -> dict[str, str]:
    """The arguments of `apply_plan` that a human confirms."""
    return {name: plan[name] for name in ("plan", "action", "id")}


async def applied(client: Client, plan: dict[str, Any]) -> dict[str, Any]:
    return await called(client, "apply_plan", **confirmed(plan))


def test_mcp_assistant_finds_explains_and_previews_but_cannot_write(scheduler: Scheduler) -> None:
    scheduler.answer("hourly", status=400)
    scheduler.advance(hours=2)
    scheduler.client.run_job("hourly", delay_seconds=600)

    async def work(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == {
            *("list_jobs", "get_job", "explain", "preview_schedule", "upcoming", "active_runs", "failed_runs"),
            *("runs_of_job", "get_run", "get_workflow_run"),
        }
        assert all(tool.annotations and tool.annotations.read_only_hint and tool.description for tool in tools)
        found = await called(client, "list_jobs", search="REPORT")
        assert [job["id"] for job in found["items"]] == ["nightly"]
        assert found["total"] == {"matching": 1, "searched": 2, "complete": True}
        failed = (await called(client, "failed_runs"))["items"]
        assert [run["job_id"] for run in failed] == ["hourly", "hourly"]
        assert (await called(client, "get_run", run_id=failed[0]["id"]))["state"] == "DEAD"
        assert (await called(client, "explain", job_id="hourly", at="2026-11-21T13:00:00Z"))["verdict"] == "fired"
        assert len((await called(client, "preview_schedule", schedule="0 2 * * *", count=3))["occurrences"]) == 3
        assert [run["state"] for run in (await called(client, "active_runs", job_id="hourly"))["items"]] == ["QUEUED"]
        assert (await called(client, "runs_of_job", job_id="hourly", state=["DEAD"]))["items"] == failed
        assert "buckets" in await called(client, "upcoming")
        assert "404" in await refused(client, "get_job", job_id="unknown")
        assert "plan_pause" in await refused(client, "plan_pause", job_id="nightly")

    assisted(scheduler, work)


def test_mcp_plan_writes_nothing_and_is_executed_once(scheduler: Scheduler) -> None:
    async def work(client: Client) -> None:
        plan = await called(client, "plan_change", job_id="nightly", changes={"schedule": "30 2 * * *"})
        assert plan["changes"] == ["schedule: 0 2 * * * -> 30 2 * * *"]
        assert scheduler.client.get_job("nightly").schedule == "0 2 * * *"
        assert (await applied(client, plan))["schedule"] == "30 2 * * *"
        assert "make a new plan" in await refused(client, "apply_plan", **confirmed(plan))
        stale = await called(client, "plan_pause", job_id="nightly", note="audit")
        scheduler.client.patch_job("nightly", {"name": "Another"})
        assert "412" in await refused(client, "apply_plan", **confirmed(stale))
        for name, state in (("plan_pause", "PAUSED"), ("plan_resume", "ACTIVE")):
            plan = await called(client, name, job_id="nightly")
            assert (await applied(client, plan))["state"] == state
        plan = await called(client, "plan_run", job_id="nightly", payload={"a": 1})
        assert (await applied(client, plan))["job_id"] == "nightly"
        plan = await called(client, "plan_create", job_id="new", job=JOB)
        assert scheduler.client.list_jobs(prefix="new").items == ()
        assert (await applied(client, plan))["id"] == "new"
        assert "422" in await refused(client, "plan_create", job_id="wrong", job={"schedule": "daily"})

    assisted(scheduler, work, "--write")


def test_mcp_plan_is_only_applied_with_its_own_action_and_id(scheduler: Scheduler) -> None:
    async def work(client: Client) -> None:
        plan = await called(client, "plan_run", job_id="nightly")
        assert (plan["action"], plan["id"]) == ("run", "nightly")
        for wrong in ({"action": "pause"}, {"id": "hourly"}):
            said = await refused(client, "apply_plan", **(confirmed(plan) | wrong))
            assert "this plan does: run nightly" in said
        assert "Field required" in await refused(client, "apply_plan", plan=plan["plan"])
        assert scheduler.client.list_runs("nightly").items == ()
        assert (await applied(client, plan))["job_id"] == "nightly"

    assisted(scheduler, work, "--write")


def test_mcp_dead_run_is_redriven_after_a_plan(scheduler: Scheduler) -> None:
    scheduler.answer("hourly", status=400)
    scheduler.advance(hours=1)
    (dead,) = scheduler.client.list_dead_runs().items

    async def work(client: Client) -> None:
        plan = await called(client, "plan_redrive", run_id=dead.id)
        assert (plan["state"], plan["action"], plan["id"]) == ("DEAD", "redrive", dead.id)
        assert (await applied(client, plan))["accepted"] == "redrive"

    assisted(scheduler, work, "--write")


def test_mcp_tools_reject_unknown_arguments(scheduler: Scheduler) -> None:
    async def work(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            needed = {
                name: {} if tool.input_schema["properties"][name].get("type") == "object" else "nightly"
                for name in tool.input_schema.get("required", ())
            }
            assert tool.input_schema["additionalProperties"] is False, tool.name
            message = await refused(client, tool.name, **needed, frm="2026-12-24T18:00:00Z")
            assert (
                f"there is no argument frm; the arguments are {', '.join(tool.input_schema['properties'])}" in message
            )
        assert "no argument from;" in await refused(client, "plan_pause", job_id="nightly", **{"from": "2026-12-24"})
        assert scheduler.client.get_job("nightly").state == "ACTIVE"

    assisted(scheduler, work, "--write")


def test_mcp_defaults_are_those_of_the_descriptions(scheduler: Scheduler) -> None:
    async def work(client: Client) -> None:
        explained = await called(client, "explain", job_id="hourly")
        assert explained["at"] == "2026-11-21T12:00:00Z"
        for tool in (await client.list_tools()).tools:  # every tool answers without its optional arguments
            values = {"schedule": "0 2 * * *", "run_id": "hourly.20261121T110000Z"}
            needed = {name: values.get(name, "hourly") for name in tool.input_schema.get("required", ())}
            result = await client.call_tool(tool.name, needed)
            assert not result.is_error or "404" in str(result.content), (tool.name, result.content)

    assisted(scheduler, work)


def test_mcp_failed_runs_can_be_those_of_one_job(scheduler: Scheduler) -> None:
    scheduler.answer("hourly", status=400)
    scheduler.answer("nightly", status=400)
    scheduler.advance(days=1)

    async def work(client: Client) -> None:
        assert len((await called(client, "failed_runs"))["items"]) == 20
        (run,) = (await called(client, "failed_runs", job_id="nightly"))["items"]
        assert run["job_id"] == "nightly"

    assisted(scheduler, work)


def test_mcp_run_of_a_workflow_has_its_steps(scheduler: Scheduler) -> None:
    scheduler.client.put_workflow("etl", {"schedule": None, "jobs": {"load": {"job": {"target": JOB["target"]}}}})  # type: ignore[typeddict-item]
    run = scheduler.client.run_job("etl")
    scheduler.advance()

    async def work(client: Client) -> None:
        found = await called(client, "get_workflow_run", run_id=run.id)
        assert [(step["id"], step["state"]) for step in found["jobs"]] == [("load", "SUCCEEDED")]
        assert "is not the id of a run" in await refused(client, "get_workflow_run", run_id="etl")

    assisted(scheduler, work)


def test_mcp_handshake_has_the_version(scheduler: Scheduler) -> None:
    async def work(client: Client) -> None:
        assert client.server_info
        assert (client.server_info.name, client.server_info.version) == ("duecourse", VERSION)

    assisted(scheduler, work)
