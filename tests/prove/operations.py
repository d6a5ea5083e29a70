"""What people and programs do to a stage: each operation of a plan as requests to its API."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.prove.draw import instant
from tests.prove.plan import Operation
from tests.prove.targets import TargetCall
from tests.prove.world import Reply, World

TRIES, AGAIN_SECONDS = 5, 3
"""How often, and how many seconds later, the removal of a limit is asked for again."""

ALL_STATES = "QUEUED,RUNNING,WAITING,RETRYING,SUCCEEDED,DEAD,CANCELLED,SKIPPED"
FINAL = ("SUCCEEDED", "DEAD", "CANCELLED", "SKIPPED")


@dataclass(frozen=True)
class Done:
    """An operation that was carried out. `run`: of which run, as it was before (`seen`)."""

    operation: Operation
    reply: Reply
    run: str | None = None
    seen: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Operator:
    """Carries operations out, and does the work of programs that complete runs by callbacks."""

    world: World
    done: list[Done] = field(default_factory=list)
    callbacks: list[tuple[str, str, Reply]] = field(default_factory=list)
    """(run, word, reply) of heartbeats, completions and failures."""
    redriven_messages: list[tuple[float, str]] = field(default_factory=list)
    """When a console redrive moved messages back, and their bodies."""

    def begin(self) -> None:
        """Plan all operations."""
        self.world.called = self.called
        for operation in self.world.plan.operations:
            for _ in range(2 if operation.more.get("twice") else 1):
                self.world.simulation.spawn(lambda operation=operation: self._perform(operation), after=operation.at)  # type: ignore[misc]

    def _perform(self, operation: Operation) -> None:
        job, more = operation.job, operation.more
        path = f"/v1/jobs/{job}"
        match operation.what:
            case "create" if "how" in more:
                self._note(operation, self._created(operation))
            case "create" | "replace":
                self._note(operation, self.world.ask("PUT", path, more["body"]))
            case "patch":
                self._note(operation, self.world.ask("PATCH", path, more["body"]))
            case "delete":
                self._note(operation, self.world.ask("DELETE", path))
            case "pause" if "seconds" in more:
                self._note(operation, self.world.ask("POST", f"{path}/pause", self._planned(more)))
            case "pause" | "run":
                asked = self.world.ask("POST", f"{path}/{operation.what}", more.get("ask", {}), key=more.get("key"))
                self._note(operation, asked)
            case "resume" | "skip-next":
                self._note(operation, self.world.ask("POST", f"{path}/{operation.what}", more["body"]))
            case "backfill":
                now = self.world.simulation.now
                span = {
                    "from": instant(now - more["back"]),
                    "to": instant(now),
                    "pace_seconds": more["pace"],
                    "newest_first": more["newest_first"],
                    "only": more.get("only", "all"),
                    "force_new_key": more.get("force_new_key", False),
                    "dry_run": False,
                } | ({"at_once": more["at_once"]} if "at_once" in more else {})
                self._note(operation, self.world.ask("POST", f"{path}/backfill", span))
            case "put":
                self._note(operation, self.world.ask("PUT", f"/v1/workflows/{job}", more["body"]))
            case "redrive" | "cancel" | "rerun" | "reschedule":
                self._about_a_run(operation)
            case "look":
                waiting = {"limit": "100", "state": "QUEUED,RETRYING"}
                self._note(operation, self.world.ask("GET", f"{path}/runs", query=waiting))
            case "limit" | "hold" | "close" | "release" | "look-key":
                self._about_a_key(operation)
            case "redrive-many" | "cancel-many" as what:
                many = "/v1/dead-letters/redrive" if what == "redrive-many" else "/v1/runs/cancel"
                states = {"state": more["state"]} if "state" in more else {}
                self._note(operation, self.world.ask("POST", many, {"job_id": job} | states))
            case "console-redrive":
                self._console_redrive()
            case other:
                raise ValueError(other)

    def _about_a_key(self, operation: Operation) -> None:
        key, more = f"/v1/limits/{operation.job}", operation.more
        match operation.what:
            case "limit":
                body = {name: more[name] for name in ("concurrency", "rate", "breaker") if more.get(name) is not None}
                reply = self.world.ask("PUT" if body else "DELETE", key, body or None)
                for _ in range(0 if body else TRIES):  # who lifts a limit does not leave it at that
                    if reply.status is not None and reply.status < 500:
                        break
                    time.sleep(AGAIN_SECONDS)
                    reply = self.world.ask("DELETE", key)
                self._note(operation, reply)
            case "hold":
                self._note(operation, self.world.ask("POST", f"{key}/hold", {"seconds": more["seconds"]}))
            case "close":
                self._note(operation, self.world.ask("POST", f"{key}/close"))
            case "release":
                reply = self.world.ask("GET", key)
                active = reply.document["active"] if reply.status == 200 else []
                if active:
                    run = active[more["pick"] % len(active)]["id"]
                    self._note(operation, self.world.ask("POST", f"{key}/release", {"run_id": run}), run)
            case _:
                self._note(operation, self.world.ask("GET", key))

    def _planned(self, more: dict[str, Any]) -> dict[str, Any]:
        """A pause that ends by itself. Its end is kept with the operation, for the promises."""
        more["until"] = float(int(self.world.simulation.now) + more["seconds"])
        return {"until": instant(more["until"]), "catch_up": more["catch_up"]}

    def _created(self, operation: Operation) -> Reply:
        """The answer to a POST of a job, alone or in a batch of one, whose own answer it has then."""
        body, key = {"id": operation.job, **operation.more["body"]}, operation.more["key"]
        if operation.more["how"] == "post":
            return self.world.ask("POST", "/v1/jobs", body, key=key)
        reply = self.world.ask("POST", "/v1/jobs/batch", {"jobs": [body]}, key=key)
        if reply.status != 200:
            return reply
        item = reply.document["items"][0]
        return replace(reply, status=item["status"], document=item.get("job", item.get("problem")))

    def _note(self, operation: Operation, reply: Reply, run: str | None = None, seen: Any = None) -> None:
        self.done.append(Done(operation, reply, run, seen or {}))

    def _about_a_run(self, operation: Operation) -> None:
        if operation.what == "reschedule":
            self._reschedule(operation)
            return
        wanted = {
            "redrive": lambda run: run["state"] == "DEAD",
            "cancel": lambda run: run["state"] not in FINAL,
            "rerun": lambda run: run["state"] in FINAL,
        }[operation.what]
        runs = [run for run in self.runs(operation.job) if wanted(run)]
        if runs:
            run = runs[operation.more["pick"] % len(runs)]
            asked = self._from(run["id"], operation.more["pick"]) if operation.what == "rerun" else None
            reply = self.world.ask("POST", f"/v1/runs/{run['id']}/{operation.what}", asked)
            self._note(operation, reply, run["id"], run)

    def _reschedule(self, operation: Operation) -> None:
        """Change the time or the payload of a run that was requested before."""
        own = [done.reply for done in self.done if done.operation.job == operation.job and done.operation.what == "run"]
        runs = list(dict.fromkeys(reply.document["id"] for reply in own if reply.accepted))
        if runs:
            run = runs[operation.more["pick"] % len(runs)]
            seen = self.world.ask("GET", f"/v1/runs/{run}")
            reply = self.world.ask("PATCH", f"/v1/runs/{run}", operation.more["ask"])
            self._note(operation, reply, run, seen.document if seen.status == 200 else None)

    def _from(self, run: str, pick: int) -> dict[str, Any]:
        """From which of its jobs a workflow's run is to run again."""
        job, _, instant = run.partition(".")
        reply = self.world.ask("GET", f"/v1/workflows/{job}/runs/{instant}")
        names = [each["id"] for each in reply.document["jobs"]] if reply.status == 200 else ["m0"]
        return {"from": [names[pick % len(names)]]}

    def _console_redrive(self) -> None:
        """SQS moves all messages of the dead-letter queue to their sources, under new ids."""
        world = self.world
        for message in list(world.dead_letters.messages):
            if message.visible <= world.simulation.now:
                world.dead_letters.messages.remove(message)
                lane = world.queues[message.id.rpartition("-")[0]]
                lane.send(message.body, 0, message.group)
                self.redriven_messages.append((world.simulation.now, message.body))

    def runs(self, job: str) -> list[dict[str, Any]]:
        """The first page of a job's runs; none if the API does not answer."""
        reply = self.world.ask("GET", f"/v1/jobs/{job}/runs", query={"limit": "100", "state": ALL_STATES})
        return list(reply.document["items"]) if reply.status == 200 else []

    # Programs that work on runs which wait for a callback.

    def called(self, call: TargetCall) -> None:
        """A target was called: where a callback is expected, a program begins to work."""
        if call.callback_token is not None:
            self.world.simulation.spawn(lambda: self._work_on(call), self.world.simulation.outside, after=0.3)

    def _work_on(self, call: TargetCall) -> None:
        random = Random(f"{self.world.plan.seed}/{call.run}/{call.attempt}/work")
        words = random.choice(
            (
                ("complete",),
                ("complete",),
                ("complete", "complete"),
                ("fail",),
                ("heartbeat", "complete"),
                ("heartbeat", "heartbeat", "fail"),
                ("late", "complete"),
                (),
            )
        )
        for word in words:
            if word == "late":
                self.world.simulation.sleep(random.uniform(5, 60))
                continue
            self.world.simulation.sleep(random.uniform(0, 4))
            if not self._call_back(call, word, random):
                return

    def _call_back(self, call: TargetCall, word: str, random: Random) -> bool:
        body = {"complete": {"result": {"rows": 7}}, "fail": {"error": "no"}, "heartbeat": {"progress": 0.5}}[word]
        for _ in range(5):
            reply = self.world.ask("POST", f"/v1/runs/{call.run}/{word}", body, token=str(call.callback_token))
            self.callbacks.append((call.run, word, reply))
            if reply.status is not None and reply.status < 500:
                return reply.accepted
            self.world.simulation.sleep(random.uniform(1, 3))
        return False
