"""The roles suffice: the main paths, run on an emulator that enforces them."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import jwt
import pytest

from duecourse.adapters.dynamodb.tables import DynamoTables
from duecourse.adapters.system import SystemClock
from duecourse.domain.ids import RunIdentity
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import HttpTarget
from duecourse.messages import RunMessage
from duecourse.ports import Timer
from duecourse.stores.table import Table
from duecourse.stores.timers import Timers
from duecourse.testing.clock import SettableClock
from infra.stages import STAGES
from tests.support.cdk_app import IDS, TAG, CdkApp
from tests.support.deployed import SOON_ONCE, deploy
from tests.support.emulators import client, ministack
from tests.support.enforced import Deployed, refusals, with_the_emulators_own_actions
from tests.support.expiry import batch_info, expire, stream_of
from tests.support.http_target import answering, http_target
from tests.support.jobs import NOON, cursor
from tests.support.jobs import job as made_job
from tests.support.receivers import LARGE, Receivers
from tests.support.runs import run
from tests.support.stream_events import expired, failure
from tests.support.tables import Tables
from tests.support.waiting import PATIENCE_SECONDS, awaited

HEALTH = "/_ministack/health"


def job(job_id: str, target: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": job_id, "target": target, **more}


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The stack on an emulator that enforces the roles' policies. In the end, no function wanted anything that its role
    does not allow.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTH", "true")
        with ministack(tmp_path_factory.mktemp("least-privilege")) as endpoint:
            outputs = deploy(endpoint, with_the_emulators_own_actions)
            base = f"{endpoint}/_aws/execute-api/{outputs['ApiId']}/$default/v1"
            with httpx.Client(base_url=base, trust_env=False, timeout=PATIENCE_SECONDS) as api:
                yield Deployed(endpoint, outputs, api)
            assert refusals(endpoint) == []


@pytest.fixture(scope="module")
def receivers(deployed: Deployed) -> Receivers:
    return Receivers(deployed.endpoint)


HOURLY = {"schedule": "rate(1 hour)"}


def post(deployed: Deployed, *bodies: dict[str, Any]) -> None:
    for body in bodies:
        answer = deployed.api.post("/jobs", json=body)
        assert answer.status_code == 201, answer.text


def health(deployed: Deployed, **more: Any) -> dict[str, Any]:
    return {"type": "http", "url": deployed.endpoint + HEALTH, "method": "GET", **more}


NOBODY = {"type": "lambda", "function": "duecourse-target-that-nobody-made"}


def test_least_privilege_suffices_for_jobs_to_run_end_die_and_be_deleted(
    deployed: Deployed, receivers: Receivers
) -> None:
    works = health(deployed, headers={"X-Greeting": "{{secret:greeting}}"})
    posted = [
        job("recurring", works, schedule="rate(5 seconds)", events=["all"]),
        job("once", works, **SOON_ONCE),
        job("dying", NOBODY, **SOON_ONCE, retry={"max_attempts": 1}, events=["deaths"]),
    ]
    post(deployed, *posted)
    deployed.run_in("recurring", "SUCCEEDED")
    dead = deployed.run_in("dying", "DEAD")
    deployed.invoke("TickFunction")
    deployed.dispatch()
    deployed.job_in("once", "COMPLETED")
    assert {each["id"] for each in posted} <= {each["id"] for each in deployed.api.get("/jobs").json()["items"]}
    assert deployed.api.post("/jobs/recurring/pause").status_code == 200
    assert deployed.api.delete("/jobs/recurring").status_code == 204
    awaited("the dead letter", lambda: bool(deployed.api.get("/dead-letters").json()["items"]))
    assert deployed.api.post(f"/runs/{dead['id']}/redrive").status_code == 202


def test_least_privilege_suffices_for_calls_to_every_kind_of_target(deployed: Deployed, receivers: Receivers) -> None:
    post(deployed, *(job(f"to-{kind}", target, **SOON_ONCE) for kind, target in receivers.targets.items()))
    for kind in receivers.targets:
        deployed.run_in(f"to-{kind}", "SUCCEEDED")


def test_least_privilege_suffices_for_large_results_and_their_links(deployed: Deployed, receivers: Receivers) -> None:
    post(deployed, job("reporting", receivers.targets["lambda"], **SOON_ONCE))
    run = deployed.run_in("reporting", "SUCCEEDED")
    read = deployed.api.get(f"/runs/{run['id']}").json()
    assert "result_url" in read, read
    assert len(httpx.get(read["result_url"], timeout=PATIENCE_SECONDS, trust_env=False).json()["body"]["text"]) == LARGE


def test_least_privilege_suffices_for_the_end_of_a_functions_log(deployed: Deployed, receivers: Receivers) -> None:
    target = receivers.targets["lambda"] | {"log": True}  # the emulator returns only the log of a failure
    post(deployed, job("logging", target, **SOON_ONCE, payload="fail", retry={"max_attempts": 1}))
    run = deployed.run_in("logging", "DEAD")

    def texts() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = deployed.api.get(f"/runs/{run['id']}/log").json()["texts"]
        return found

    awaited("the log", lambda: bool(texts()))
    (text,) = texts()
    assert (text["attempt"], text["source"]) == (1, "call")
    assert "no paper" in text["text"]


def test_least_privilege_suffices_for_results_in_an_allowed_bucket_and_for_nothing_else_there(
    deployed: Deployed, receivers: Receivers
) -> None:
    (bucket,) = STAGES["local"].result_buckets
    s3 = client("s3", deployed.endpoint)
    s3.create_bucket(Bucket=bucket)
    post(deployed, job("located", receivers.targets["lambda"], **SOON_ONCE, results={"bucket": bucket}))
    run = deployed.run_in("located", "SUCCEEDED")
    read = deployed.api.get(f"/runs/{run['id']}").json()
    key = read["result_location"].removeprefix(f"s3://{bucket}/")
    assert key == f"default/located/{run['id'].removeprefix('located.')}/1.json"
    assert (read["result"], "result_url" in read) == (None, False)
    assert len(json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read())["body"]["text"]) == LARGE
    refused = deployed.api.post("/jobs", json=job("elsewhere", health(deployed), results={"bucket": "elsewhere"}))
    assert refused.json()["errors"][0]["pointer"] == "/results/bucket"


def test_least_privilege_suffices_for_tokens_that_receivers_verify_with_the_published_keys(deployed: Deployed) -> None:
    audience = "https://shop.example"
    with http_target(answering(200)) as shop:
        target = {"type": "http", "url": shop.url(), "auth": {"type": "oidc", "audience": audience}}
        post(deployed, job("known", target, **SOON_ONCE))
        deployed.run_in("known", "SUCCEEDED")
    token = shop.seen[0].headers["Authorization"].removeprefix("Bearer ")
    root = str(deployed.api.base_url).removesuffix("/").removesuffix("/v1")
    discovered, keys = (
        httpx.get(f"{root}/.well-known/{name}", trust_env=False, timeout=PATIENCE_SECONDS).json()
        for name in ("openid-configuration", "jwks.json")
    )
    issuer = discovered["issuer"]
    key = jwt.PyJWKSet.from_dict(keys)[jwt.get_unverified_header(token)["kid"]]
    claims = jwt.decode(token, key, algorithms=["RS256"], audience=audience, issuer=issuer)
    assert claims["sub"] == "default/known"
    assert issuer == deployed.outputs["ApiUrl"]
    assert discovered["jwks_uri"] == f"{issuer}/.well-known/jwks.json"


def test_least_privilege_suffices_for_calls_through_a_connector(deployed: Deployed) -> None:
    with http_target(answering(200, b"paid")) as erp:
        post(deployed, job("connected", {"type": "http", "url": erp.url(), "via": "office"}, **SOON_ONCE))
        run = deployed.run_in("connected", "SUCCEEDED")
    assert [seen.headers["X-Duecourse-Job-Id"] for seen in erp.seen] == ["connected"]
    assert deployed.api.get(f"/runs/{run['id']}").json()["result"] == {"status": 200, "body": "paid"}


def test_least_privilege_suffices_for_runs_that_wait_for_a_callback(deployed: Deployed, receivers: Receivers) -> None:
    receivers.messages()
    waiting = {"completion": "callback", "completion_seconds": 600, "heartbeat_seconds": 300}
    post(deployed, job("handed-over", receivers.targets["sqs"], **SOON_ONCE, **waiting))
    run = deployed.run_in("handed-over", "WAITING")
    (event,) = [json.loads(body) for body in receivers.messages() if "handed-over" in body]
    bearer = {"Authorization": f"Bearer {event['callback']['token']}"}
    assert deployed.api.post(f"/runs/{run['id']}/heartbeat", headers=bearer).status_code == 200
    logged = deployed.api.post(f"/runs/{run['id']}/log", headers=bearer, json={"text": "3 pages\n"})
    assert (logged.status_code, logged.json()) == (200, {"stored": True})
    (text,) = deployed.api.get(f"/runs/{run['id']}/log").json()["texts"]
    assert (text["source"], text["text"]) == ("work", "3 pages\n")
    done = deployed.api.post(f"/runs/{run['id']}/complete", headers=bearer, json={"result": {"pages": 3}})
    assert done.status_code == 202, done.text
    deployed.run_in("handed-over", "SUCCEEDED")


def test_least_privilege_lets_the_function_of_a_users_cdk_app_read_its_secret(deployed: Deployed) -> None:
    api = str(deployed.api.base_url).removesuffix("/").removesuffix("/v1")
    app = CdkApp(deployed.endpoint, api, deployed.endpoint + HEALTH)
    app.deploy("create")
    assert {each["id"] for each in deployed.api.get("/jobs", params={"tag": TAG}).json()["items"]} == IDS
    app.destroy()


def test_least_privilege_suffices_for_long_waits_in_the_due_index(deployed: Deployed) -> None:
    retry = {"max_attempts": 2, "backoff": "fixed", "min_seconds": 1000, "max_seconds": 1000, "on": ["*"]}
    post(deployed, job("patient", NOBODY, **SOON_ONCE, retry=retry))
    deployed.run_in("patient", "RETRYING")
    awaited("its timer", lambda: "patient" in deployed.timers())
    now = int(time.time())
    message = RunMessage(RunIdentity("default", "gone", now, now, now * 1000), Lane.NORMAL, now, "nonce", attempt=2)
    names = {Table.JOBS: deployed.outputs["JobsTable"]}
    tables = DynamoTables(client("dynamodb", deployed.endpoint), names, SystemClock())
    Timers(tables, shards=STAGES["local"].shards).put(Timer(message, now))
    deployed.dispatch()
    awaited("the end of the timer", lambda: "gone" not in deployed.timers())


def test_least_privilege_suffices_for_the_reconciler_to_record_unrecorded_deaths(deployed: Deployed) -> None:
    post(deployed, job("stranded", health(deployed), **HOURLY, events=["all"], pause_on_failure=1))
    now, generation = int(time.time()), deployed.generation("stranded")
    message = RunMessage(RunIdentity("default", "stranded", now, now, generation), Lane.NORMAL, now, "nonce")
    queue = deployed.outputs["DeadLetterQueueUrl"]
    client("sqs", deployed.endpoint).send_message(QueueUrl=queue, MessageBody=message.to_json())
    deployed.invoke("ReconcileFunction")
    deployed.run_in("stranded", "DEAD")
    deployed.job_in("stranded", "PAUSED")


def test_least_privilege_suffices_for_changes_manual_runs_backfills_and_queries(deployed: Deployed) -> None:
    """What only the API does; its role is stretched by nothing else here."""
    api, path = deployed.api, "/jobs/changing"
    body = job("changing", health(deployed), **HOURLY, tags=["night"], events=["all"])
    made = api.put(path, json=body, headers={"Idempotency-Key": "k"})
    assert made.status_code == 201, made.text
    changed = api.patch(path, json={"schedule": "rate(2 hours)"}, headers={"If-Match": made.headers["etag"]})
    assert changed.status_code == 200, changed.text
    keyed = api.post("/jobs", json=job("keyed", health(deployed), **HOURLY), headers={"Idempotency-Key": "k"})
    assert keyed.status_code == 201, keyed.text
    batch = api.post("/jobs/batch", json={"jobs": [job("batched", health(deployed), **HOURLY, tags=["night"])]})
    assert [item["status"] for item in batch.json()["items"]] == [201], batch.text
    assert {item["id"] for item in api.get("/jobs?tag=night").json()["items"]} == {"changing", "batched"}

    asked = api.post(f"{path}/run", json={"payload": {"by": "hand"}})
    assert asked.status_code == 202, asked.text
    deployed.run_in("changing", "SUCCEEDED")
    begun = datetime.now(UTC) - timedelta(days=1)
    hours = {"from": f"{begun:%Y-%m-%dT%H:%M:%SZ}", "to": f"{begun + timedelta(hours=8):%Y-%m-%dT%H:%M:%SZ}"}
    for dry_run, status in ((True, 200), (False, 202)):
        filled = api.post(f"{path}/backfill", json={**hours, "pace_seconds": 600, "dry_run": dry_run})
        assert filled.status_code == status, filled.text
    assert api.post(f"{path}/skip-next", json={}).status_code == 200

    paused = api.post("/jobs/pause", json={"tag": "night", "note": "by day only"})
    assert (paused.status_code, paused.json()["changed"]) == (200, 2), paused.text
    assert api.post("/jobs/resume", json={"tag": "night"}).status_code == 200
    figures = api.get("/stats")
    assert figures.status_code == 200, figures.text
    assert None not in figures.json()["lanes"].values(), "the queues could not be counted"
    why = api.get(f"{path}/explain", params={"at": hours["to"]})
    assert why.status_code == 200, why.text
    deployed.invoke("TickFunction")
    assert api.get("/health").json()["status"] == "ok"
    assert api.delete(path).status_code == 204


def test_least_privilege_suffices_to_archive_expired_runs_and_read_a_failed_batch_again(deployed: Deployed) -> None:
    """The emulator's stream tells of no expiry, so the function is given what AWS would give it."""
    made = run(made_job(id="archived"), RunState.SUCCEEDED)
    deployed.invoke("ArchiveFunction", expired(made))
    bucket = deployed.outputs["ArchiveBucket"]
    kept = client("s3", deployed.endpoint).list_objects_v2(Bucket=bucket)
    assert [each["Key"].split("/")[0] for each in kept["Contents"]] == ["runs"]
    tables = Tables(client("dynamodb", deployed.endpoint), deployed.outputs["JobsTable"], deployed.outputs["RunsTable"])
    expire(tables, made)
    info = batch_info(client("dynamodbstreams", deployed.endpoint), stream_of(tables))
    deployed.invoke("ArchiveFunction", failure(1, 2) | {"DDBStreamBatchInfo": info})


def test_least_privilege_suffices_for_audit_and_index_repair_to_find_an_unread_job(deployed: Deployed) -> None:
    """Due for hours, in a slot of long ago: open, until index repair has moved it and it has run."""
    dynamodb, table = client("dynamodb", deployed.endpoint), deployed.outputs["JobsTable"]
    tables = Tables(dynamodb, table, deployed.outputs["RunsTable"])
    now = time.time()
    made = made_job("rate(1 hour)", id="unread", at=now - 5.5 * 3600, target=HttpTarget(deployed.endpoint + HEALTH))
    assert tables.job_store(SettableClock(now)).create(made, cursor(made))
    key = {"PK": {"S": "JOB#default#unread"}, "SK": {"S": "CURSOR"}}
    dynamodb.update_item(
        TableName=table,
        Key=key,
        UpdateExpression="SET #slot = :slot",
        ExpressionAttributeNames={"#slot": "slot"},
        ExpressionAttributeValues={":slot": {"S": "2020-01-01T00/0000"}},
    )

    def audit() -> int:
        """How many rows of the job are open after an audit of this hour, were it the first."""
        dynamodb.delete_item(TableName=table, Key={"PK": {"S": "AUDIT#TURNS"}, "SK": {"S": "0001/0000"}})
        deployed.invoke("AuditFunction")
        whose = {":open": {"S": "AUDIT#OPEN"}}
        found = dynamodb.query(TableName=table, KeyConditionExpression="PK = :open", ExpressionAttributeValues=whose)
        return sum(item["job_id"] == {"S": "unread"} for item in found["Items"])

    assert audit() == 1
    dynamodb.delete_item(TableName=table, Key={"PK": {"S": "REPAIR"}, "SK": {"S": "LAST"}})
    deployed.invoke("RepairFunction")
    assert not dynamodb.get_item(TableName=table, Key=key)["Item"]["slot"]["S"].startswith("2020")
    deployed.dispatch()
    deployed.run_in("unread", "SUCCEEDED")
    assert audit() == 0


def test_least_privilege_suffices_for_index_repair_to_remove_completed_jobs(deployed: Deployed) -> None:
    tables = Tables(client("dynamodb", deployed.endpoint), deployed.outputs["JobsTable"], deployed.outputs["RunsTable"])
    store, long_ago = tables.job_store(SettableClock(NOON)), time.time() - 1000 * 86_400
    made = made_job(id="over", at=long_ago, tags=("over",))
    assert store.create(made, cursor(made))
    assert store.complete(made, at=long_ago)
    tables.client.delete_item(TableName=tables.jobs, Key={"PK": {"S": "REPAIR"}, "SK": {"S": "LAST"}})
    deployed.invoke("RepairFunction")
    assert store.get("default", "over") is None
