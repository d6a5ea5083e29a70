"""The container of all functions."""

import dataclasses
import inspect
import re
import subprocess
import sys
from dataclasses import is_dataclass
from typing import Any

import pytest

from benchmarks.cold.functions import ENVIRONMENT
from duecourse.adapters.aws.clients import client
from duecourse.settings import (
    ApiSettings,
    AuditSettings,
    CallbackSettings,
    DispatchSettings,
    ExecuteSettings,
    ReconcilerSettings,
    RepairSettings,
    SettingsError,
    TickSettings,
)
from duecourse.testing.clock import SettableClock
from duecourse.usecases.parts import Parts
from duecourse.wiring import Wiring, made_at_start


def test_wiring_makes_each_object_once() -> None:
    wiring = Wiring(ApiSettings.from_env(ENVIRONMENT))
    assert wiring.api is wiring.api
    assert wiring.api.callbacks is wiring.callbacks


def test_wiring_builds_use_cases_from_assigned_objects() -> None:
    wiring = Wiring(TickSettings.from_env(ENVIRONMENT))
    wiring.clock = clock = SettableClock(0.0)
    assert wiring.tick.clock is clock


def test_wiring_tick_raises_capacity_only_in_a_stage_with_the_setting() -> None:
    rules = (
        '{"dollars_per_day": 15, "table_quota": 40000, "spare": 300, "list_successes": true, "runs_table": "runs",'
        ' "queues": {"normal": {"source": "a", "concurrent": 100, "batch": 10}}}'
    )
    assert Wiring(TickSettings.from_env(ENVIRONMENT)).tick.prescale is None
    made = Wiring(TickSettings.from_env({**ENVIRONMENT, "DUECOURSE_PRESCALE": rules})).tick.prescale
    assert made is not None
    assert made.rules.dollars_per_day == 15


def test_wiring_imports_only_modules_that_the_use_case_needs() -> None:
    program = """
import os, sys
from duecourse.settings import TickSettings
from duecourse.usecases.parts import Parts
from duecourse.wiring import Wiring
Wiring(TickSettings.from_env(os.environ)).tick
assert "duecourse.adapters.sqs.shard_queue" in sys.modules
unused = ("duecourse.usecases.worker", "duecourse.api", "pydantic")
print([name for name in sys.modules if name.startswith(unused) or name.endswith((".prescale", ".peaks", ".capacity"))])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=dict(ENVIRONMENT), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


NOT_IMPORTED = {"settings", "clock", "randomness", "executor"}
FURTHER = {
    "DUECOURSE_REPAIR_HOURS": "24",
    "DUECOURSE_COMPLETED_JOB_RETENTION_DAYS": "90",
    "DUECOURSE_AUDIT_SEGMENTS": "1",
}


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (ApiSettings, "api"),
        (AuditSettings, "audit"),
        (CallbackSettings, "callback_parts"),
        (DispatchSettings, "dispatch"),
        (ExecuteSettings, "workers"),
        (ReconcilerSettings, "reconcile"),
        (RepairSettings, "index_repair"),
    ],
)
def test_wiring_use_cases_of_a_function_have_their_parts_before_its_first_invocation(settings: Any, name: str) -> None:
    wiring = Wiring[Any](settings.from_env(dict(ENVIRONMENT) | FURTHER))
    made, needed = getattr(wiring, name), set[str]()
    open_, seen = [*made.values()] if isinstance(made, dict) else [made], set[int]()
    while open_:
        use_case = open_.pop()
        if id(use_case) in seen or not is_dataclass(use_case):
            continue
        seen.add(id(use_case))
        fields = [getattr(use_case, each.name) for each in dataclasses.fields(use_case)]
        open_ += [part for each in fields for part in (each if isinstance(each, tuple) else (each,))]
        if wiring in fields:
            needed |= set(re.findall(r"\bparts\.(\w+)", inspect.getsource(sys.modules[type(use_case).__module__])))
    assert (needed & vars(Parts).keys()) - NOT_IMPORTED <= vars(wiring).keys()


def test_wiring_of_a_function_whose_caller_waits_asks_the_store_of_logs_once() -> None:
    tried = {
        settings: Wiring[Any](settings.from_env(dict(ENVIRONMENT) | FURTHER)).log_store._client
        is client("s3", short_timeouts=True, once=True)
        for settings in (ApiSettings, CallbackSettings, ExecuteSettings)
    }
    assert tried == {ApiSettings: True, CallbackSettings: True, ExecuteSettings: False}


def test_wiring_made_at_start_creates_the_object_immediately_and_once() -> None:
    made: list[int] = []

    def make() -> int:
        made.append(0)
        return len(made)

    get = made_at_start(make)
    assert made == [0]
    assert (get(), get()) == (1, 1)


def test_wiring_made_at_start_reports_wrong_settings_at_each_call() -> None:
    get = made_at_start(lambda: TickSettings.from_env({}))
    for _ in range(2):
        with pytest.raises(SettingsError, match="DUECOURSE_SHARD_QUEUE_URL is missing"):
            get()


def test_wiring_made_at_start_creates_the_object_as_soon_as_the_settings_are_valid() -> None:
    environ: dict[str, str] = {}
    get = made_at_start(lambda: TickSettings.from_env(environ))
    environ.update(ENVIRONMENT)
    assert get().stage == "bench"
