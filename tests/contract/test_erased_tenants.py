"""Erasing and exporting a tenant, on the emulators of DynamoDB, and MiniStack's S3 and Parameter Store."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from duecourse.adapters.aws.s3 import S3Archive
from duecourse.api.api import admit
from duecourse.api.problems import Problem
from duecourse.api.request import Request
from duecourse.checks.tenants import KINDS, tenant_of
from duecourse.cli.tenants.erasing import LEFT, counted, erase, left
from duecourse.cli.tenants.exporting import export
from duecourse.cli.tenants.place import Place
from duecourse.cli.tenants.suspending import suspend
from duecourse.cli.terminal import CliError
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.job import RetryPolicy
from duecourse.domain.maintenance.archive import Sheet
from duecourse.domain.runs.api_keys import ApiKey, key_text
from duecourse.domain.runs.states import RunIdentity, RunState
from duecourse.domain.targets.targets import Execution, ExecutionService, Failed, Outcome, Returned
from duecourse.ports import Call
from tests.support import emulators
from tests.support.for_each import listed_graph, with_items
from tests.support.jobs import NOON, job
from tests.support.tables import Tables
from tests.support.tenants import Dies, dying, place
from tests.support.varied import record
from tests.support.workflow_model.cases import CHAIN
from tests.support.workflow_world import INSTANT, WorkflowWorld
from tests.support.world import World

SECRETS = "/duecourse/test/secrets"


@dataclass
class Site:
    """A stage with data of two tenants, acme and other."""

    world: World
    tables: Tables
    clients: Mapping[str, Any]
    outputs: Mapping[str, str]

    def place(self, tenant: str = "acme", **more: Any) -> Place:
        """A tenant."""
        return place(self.tables, self.world.clock, tenant, **({"clients": self.clients} | more), **self.outputs)

    def items(self, tenant: str) -> list[tuple[str, str]]:
        """The keys of a tenant's items in both tables, without what closes the tenant."""
        found = [
            (item["PK"]["S"], item["SK"]["S"])
            for table in (self.tables.jobs, self.tables.runs)
            for item in self.tables.client.boto3.scan(TableName=table)["Items"]
            if tenant_of(item["PK"]["S"], item["SK"]["S"]) == tenant
        ]
        return [each for each in found if not each[1].startswith(("RATE", "ERASURE#"))]

    def objects(self, bucket: str) -> list[str]:
        """The keys of all versions of a bucket's objects."""
        page = self.clients["s3"].list_object_versions(Bucket=self.outputs[bucket])
        return [each["Key"] for each in page.get("Versions", ())]

    def rows(self, key: str = "runs/day=2026-08-01/1-2-abc.json.gz") -> list[Any]:
        """The rows of an object of the archive."""
        body = self.clients["s3"].get_object(Bucket=self.outputs["ArchiveBucket"], Key=key)["Body"].read()
        return [json.loads(line) for line in gzip.decompress(body).splitlines()]

    def secrets(self, tenant: str) -> list[str]:
        """The names of a tenant's secrets."""
        found = self.clients["ssm"].get_parameters_by_path(Path=f"{SECRETS}/{tenant}")["Parameters"]
        return [each["Name"].rpartition("/")[2] for each in found]


@pytest.fixture
def site(ministack: str, dynamodb_tables: Tables) -> Iterator[Site]:
    client = {service: emulators.client(service, ministack).boto3 for service in ("s3", "ssm")}
    prefixes = {"shared": {"*": "all/{tenant}/"}, "reports": {"acme": "duecourse/"}, "others": {"other": ""}}
    settings = {"DUECOURSE_SECRET_STORE": "parameters", "DUECOURSE_RESULT_BUCKETS": json.dumps(prefixes)}
    worker = {"Environment": {"Variables": settings}}
    functions = SimpleNamespace(get_function_configuration=lambda **_: worker)
    buckets = {name: f"{name.lower()}-{uuid4().hex[:8]}" for name in ("ResultsBucket", "ArchiveBucket")}
    for bucket in buckets.values():
        client["s3"].create_bucket(Bucket=bucket)
    client["s3"].put_bucket_versioning(Bucket=buckets["ArchiveBucket"], VersioningConfiguration={"Status": "Enabled"})
    world = World(dynamodb_tables)
    world.caller.answer = lambda call: Failed("503") if call.run.job_id == "fails" else Returned()
    outputs = {**buckets, "ExecuteHighFunction": "worker"}
    made = Site(world, dynamodb_tables, {**client, "lambda": functions}, outputs)
    for tenant in ("acme", "other"):
        for each in (
            job("rate(1 minute)", id="works", payload={"large": "x" * 5000}, tags=("billing",)),
            job("2026-11-21T12:00:30", id="fails", retry=RetryPolicy(max_attempts=3, min_seconds=3600)),
        ):
            world.add(replace(each, tenant=tenant))
        text = key_text(tenant, "s" * 32)
        until = int(NOON) + 90 * DAY_SECONDS
        assert world.jobs.api_keys.add(ApiKey(tenant, text.id, text.hash, "works", 1, "", NOON, "ann", until), 0)
        for key in (f"results/{tenant}/works/1/1.json", f"logs/{tenant}/works/1/1.txt"):
            client["s3"].put_object(Bucket=buckets["ResultsBucket"], Key=key, Body=b"{}")
        client["ssm"].put_parameter(Name=f"{SECRETS}/{tenant}/key", Value="s3cr3t", Type="SecureString", Overwrite=True)
    world.until(NOON + 130)
    for tenant in ("acme", "other"):
        followed = record(RunState.WAITING, RunIdentity(tenant, "works", int(NOON), int(NOON), generation=1))
        dynamodb_tables.executions().put(execution(tenant), followed, expires_at=int(NOON) + 90 * DAY_SECONDS)
    world.office.api.jobs.delete("acme", "works")
    world.add(replace(job("rate(1 minute)", id="again", at=world.clock.now()), tenant="acme"))
    archive = S3Archive(client["s3"], buckets["ArchiveBucket"])
    both = tuple({"tenant": tenant, "id": f"{tenant}.1"} for tenant in ("acme", "other"))
    archive.put(Sheet("runs/day=2026-08-01/1-2-abc.json.gz", both))
    archive.put(Sheet("runs/day=2026-08-02/3-4-abc.json.gz", both[:1]))
    archive.put(Sheet("unreadable/5-6-abc.json.gz", ({"image": {"PK": "JOB#acme#old", "SK": "RUN#1"}, "error": "?"},)))
    yield made
    for tenant in ("acme", "other"):
        for name in made.secrets(tenant):
            client["ssm"].delete_parameter(Name=f"{SECRETS}/{tenant}/{name}")


def assert_erased(site: Site) -> None:
    """Nothing of acme is left anywhere, and everything of the other tenant is."""
    assert site.items("acme") == []
    assert site.secrets("acme") == []
    assert site.objects("ResultsBucket") == ["logs/other/works/1/1.txt", "results/other/works/1/1.json"]
    assert site.objects("ArchiveBucket") == ["runs/day=2026-08-01/1-2-abc.json.gz"]
    assert site.rows() == [{"tenant": "other", "id": "other.1"}]
    assert len(site.items("other")) >= 8
    assert site.secrets("other") == ["key"]
    followed = site.tables.executions()
    assert followed.get(execution("acme")) is None
    assert followed.get(execution("other")) is not None


def execution(tenant: str) -> Execution:
    """The execution that a run of a tenant follows."""
    return Execution(ExecutionService.STATES, f"arn:aws:states:eu-west-1:123456789012:execution:flow:{tenant}")


def seconds(text: str | None) -> int:
    """An instant of a report in UTC seconds."""
    assert text is not None
    return int(datetime.fromisoformat(text).timestamp())


def test_erased_tenants_erasure_leaves_nothing_of_the_tenant_and_everything_of_the_others(site: Site) -> None:
    before = counted(site.place())
    assert (before["jobs"], before["results"], before["archived runs"], before["secrets"]) == (2, 1, 3, 1)
    assert before["logs"] == 1
    others = site.items("other")
    report = erase(site.place(), by="olga")
    assert_erased(site)
    assert site.items("other") == others
    assert (report["state"], report["begun_by"]) == ("erased", "olga")
    assert report["erased"]["jobs"] == before["jobs"]
    assert report["erased"]["archived_runs"] == 3
    assert seconds(report["ended_at"]) >= seconds(report["begun_at"]) + 1200
    assert not counted(site.place()).total()


def test_erased_tenants_report_lists_the_results_that_remain_in_other_buckets(site: Site) -> None:
    locations = [
        f"results in {where} (setting result_buckets); delete them there"
        for where in ("s3://shared/all/acme/", "s3://reports/duecourse/")
    ]
    assert left(site.place())[:3] == [*locations, LEFT[0]]
    assert erase(site.place(), by="olga")["left"] == left(site.place())


def test_erased_tenants_dry_run_changes_nothing(site: Site) -> None:
    items, objects = site.items("acme"), site.objects("ArchiveBucket")
    counted(site.place())
    assert (site.items("acme"), site.objects("ArchiveBucket"), site.place().closed()) == (items, objects, None)


def test_erased_tenants_second_erasure_finds_nothing_and_keeps_the_report(site: Site) -> None:
    first = erase(site.place(), by="olga")
    site.world.clock.advance(3600)
    assert erase(site.place(), by="otto") == first


def test_erased_tenants_tenant_stays_closed_for_fifteen_days(site: Site) -> None:
    report = erase(site.place(), by="olga")
    with pytest.raises(Problem) as refused:
        admit(site.world.api, Request("request-1", tenant="acme"))
    assert (refused.value.kind, int(refused.value.status)) == ("tenant-erased", 403)
    assert "It can be used again from 2026-12-06T12:2" in refused.value.detail
    with pytest.raises(CliError, match="was erased, so it cannot be suspended"):
        suspend(site.place(), by="olga", note=None)
    assert site.place().rate()["expires_at"] == {"N": str(seconds(report["ended_at"]) + 15 * 86_400)}


def test_erased_tenants_erasure_of_a_tenant_that_was_suspended_before_does_not_wait(site: Site) -> None:
    suspend(site.place(), by="olga", note=None)
    site.world.clock.advance(1200)
    began = site.world.clock.now()
    assert erase(site.place(), by="olga", wait=False)["state"] == "erased"
    assert site.world.clock.now() == began
    assert_erased(site)


def test_erased_tenants_erasure_that_must_wait_can_be_continued_later(site: Site) -> None:
    report = erase(site.place(), by="olga", wait=False)
    assert (report["state"], report["ended_at"]) == ("waiting", None)
    assert seconds(report["repeat_after"]) == site.world.clock.now() + 1200
    site.world.clock.advance(1200)
    assert erase(site.place(), by="olga", wait=False)["state"] == "erased"
    assert_erased(site)


def test_erased_tenants_runs_in_progress_write_nothing_back(site: Site) -> None:
    """The tenant is erased during a call; afterwards its messages, timers and dead letters go on as on any day."""
    world = site.world
    erased = []

    def answer(call: Call) -> Outcome:
        if call.run.tenant == "acme" and not erased:
            erased.append(erase(site.place(), by="olga", wait=False))
        return Returned()

    world.caller.answer = answer
    world.until(NOON + 190)
    assert erased
    called = len(world.caller.calls)
    world.until(NOON + 1600)
    assert erase(site.place(), by="olga", wait=False)["state"] == "erased"
    world.until(NOON + 2 * 3600)
    world.reconcile()
    world.repair()
    assert_erased(site)
    assert called < len(world.caller.calls), "the other tenant's jobs go on"
    assert world.count("MessagesFailed") == 0


def test_erased_tenants_erasure_continues_after_the_process_died_at_any_request(site: Site) -> None:
    shared, ended = [0], None
    for after in range(1, 200):
        clients = {name: dying(client, after, shared) for name, client in site.clients.items() if name != "lambda"}
        clients |= {"lambda": site.clients["lambda"], "dynamodb": dying(site.tables.client.boto3, after, shared)}
        shared[0] = 0
        try:
            ended = erase(site.place(clients=clients), by="olga")
            break
        except Dies:
            continue
    assert ended is not None
    assert ended["state"] == "erased"
    assert_erased(site)


def test_erased_tenants_export_has_everything_of_the_tenant(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    summary = export(site.place(), folder)
    lines = {
        kind: [json.loads(line) for line in (folder / f"{kind}.ndjson").read_text().splitlines()] for kind in KINDS
    }
    assert {kind: len(found) for kind, found in lines.items()} == {kind: summary["counts"][kind] for kind in KINDS}
    assert sum(map(len, lines.values())) == len(site.items("acme"))
    assert {each["job_id"] for each in lines["jobs"] if "job_id" in each} == {"fails", "again"}
    assert all(isinstance(each["definition"], dict) for each in lines["jobs"] if "job_id" in each)
    assert {each["PK"] for each in lines["runs"]} == {"JOB#acme#works", "JOB#acme#fails"}
    assert (folder / "results/acme/works/1/1.json").read_bytes() == b"{}"
    assert (folder / "logs/acme/works/1/1.txt").read_bytes() == b"{}"
    assert len((folder / "archive.ndjson").read_text().splitlines()) == summary["counts"]["archived runs"] == 3
    assert summary["secrets"] == ["key"]
    assert "s3cr3t" not in "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
    assert json.loads((folder / "export.json").read_text()) == summary
    assert export(site.place(), folder)["counts"] == summary["counts"], "an export can be repeated into its folder"


def test_erased_tenants_items_of_a_list_are_exported_and_erased(site: Site, tmp_path: Path) -> None:
    world = WorkflowWorld(site.tables)
    site = replace(site, world=world)
    with_items(world, ["x", {"id": "y"}])
    world.begin(listed_graph(), NOON + 200)
    folder = tmp_path / "export"
    export(site.place("default"), folder)
    graphs = [json.loads(line)["graph"] for line in (folder / "workflows.ndjson").read_text().splitlines()]
    assert [graph["items"]["values"] for graph in graphs if "items" in graph] == [['"x"', '{"id": "y"}']]
    assert [key for key in site.items("default") if key[0] == "JOB#default#load" and key[1].startswith("GRAPH#")]
    assert erase(site.place("default"), by="olga")["state"] == "erased"
    assert site.items("default") == []


def test_erased_tenants_export_into_a_folder_with_other_files_is_refused(site: Site, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(CliError, match="is not empty; choose another folder with --to"):
        export(site.place(), tmp_path)


def test_erased_tenants_messages_of_a_workflow_that_was_erased_are_dropped(site: Site) -> None:
    world = WorkflowWorld(site.tables)
    site = replace(site, world=world)
    world.begin(CHAIN, NOON + 59)
    erased: list[object] = []

    def answer(_: Call) -> Outcome:
        if not erased:
            erased.append(erase(site.place("default"), by="olga", wait=False))
        return Returned()

    world.caller.answer = answer
    world.until(NOON + 1700)
    assert erased
    world.reconcile()
    assert erase(site.place("default"), by="olga", wait=False)["state"] == "erased"
    world.until(NOON + 2 * 3600)
    world.reconcile()
    assert site.items("default") == []
    assert [run for run in world.caller.runs if run[0] in "abc" and run[1] == "."] == [f"a.{INSTANT}"]
    assert world.count("MessagesFailed") == 0
