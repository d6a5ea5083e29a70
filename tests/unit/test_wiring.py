"""The container of all functions."""

import subprocess
import sys

import pytest

from benchmarks.cold.functions import ENVIRONMENT
from duecourse.settings import ApiSettings, SettingsError, TickSettings
from duecourse.testing.clock import SettableClock
from duecourse.wiring import Wiring, made_at_start


def test_wiring_makes_each_object_once() -> None:
    wiring = Wiring(ApiSettings.from_env(ENVIRONMENT))
    assert wiring.api is wiring.api
    assert wiring.api.callbacks is wiring.callbacks


def test_wiring_builds_use_cases_from_assigned_objects() -> None:
    wiring = Wiring(TickSettings.from_env(ENVIRONMENT))
    wiring.clock = clock = SettableClock(0.0)
    assert wiring.tick.clock is clock


def test_wiring_imports_only_modules_that_the_use_case_needs() -> None:
    program = """
import os, sys
from duecourse.settings import TickSettings
from duecourse.wiring import Wiring
Wiring(TickSettings.from_env(os.environ)).tick
assert "duecourse.adapters.sqs.shard_queue" in sys.modules
print([name for name in sys.modules if name.startswith(("duecourse.usecases.worker", "duecourse.api", "pydantic"))])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=dict(ENVIRONMENT), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


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
