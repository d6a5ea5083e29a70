"""The pytest plugin, which every test run of a program loads that has the package."""

import subprocess
import sys

from duecourse.testing import Scheduler


def test_plugin_fixture_is_a_scheduler(duecourse_scheduler: Scheduler) -> None:
    assert duecourse_scheduler.now.isoformat() == "2026-01-01T00:00:00+00:00"
    assert duecourse_scheduler.advance(days=1) == []


def test_plugin_loads_no_unused_modules() -> None:
    program = """
import sys
import pytest
before = set(sys.modules)
import duecourse.testing.plugin
print(sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "['duecourse', 'duecourse.testing', 'duecourse.testing.plugin']\n"
