"""The recipes in docs/recipes: each diff applies to this tree, touches few files and does what it says."""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from scripts.generated import FILES
from tests.support.template import ROOT
from tests.support.tree_copy import Copy

FOLDER = ROOT / "docs" / "recipes"
PAGE = ROOT / "CONTRIBUTING.md"
GENERATED = {*FILES, "docs/api.md"}
"""Files that `make openapi` writes."""

PREPARED = """
from duecourse.testing import Scheduler

HTTP = {"type": "http", "url": "https://example.com"}
"""


class Recipe(NamedTuple):
    """The most files that it may touch, what holds in a tree with it (Python), and tests that pass there."""

    most: int
    holds: str
    tests: tuple[str, ...] = ()


RECIPES = {
    "field": Recipe(
        3,
        """
with Scheduler() as scheduler:
    for name in ("tried", "usual"):
        job = {"id": name, "schedule": "at(2026-01-01T00:01:00)", "target": HTTP, "trial": name == "tried"}
        scheduler.client.create_job(job)
        scheduler.answer(name, status=500)
    scheduler.advance(days=1)
    assert scheduler.client.get_job("tried").trial
    attempts = {name: next(iter(scheduler.client.list_runs(name))).attempts for name in ("tried", "usual")}
    assert attempts == {"tried": 1, "usual": 4}, attempts
""",
        ("tests/unit/api/test_openapi.py", "tests/unit/domain/jobs/test_change_record.py"),
    ),
    "target": Recipe(
        10,
        """
from duecourse.adapters.targets.aws.kinesis import KinesisCaller
from duecourse.domain.targets.targets import KinesisTarget
from duecourse.testing.clock import SettableClock
from infra.bundling import SERVICES
from infra.settings.targets_config import AllowedTargetsConfig
from tests.support.aws_targets import ARNS, Service
from tests.support.calls import a_call

service, target = Service({"SequenceNumber": "7"}), KinesisTarget("duecourse-target-clicks")
outcome = KinesisCaller(SettableClock(0), service.client_for, ARNS).call(a_call(target), target)
assert outcome.result == {"sequence_number": "7"}
assert (service.asked[0]["StreamName"], service.asked[0]["PartitionKey"]) == ("duecourse-target-clicks", "nightly")
assert AllowedTargetsConfig().streams == ("duecourse-target-*",)
assert "kinesis" in SERVICES
with Scheduler() as scheduler:
    target = {"type": "kinesis", "stream": "duecourse-target-clicks"}
    shown = scheduler.client.create_job({"id": "clicks", "schedule": None, "target": target})
    assert shown.target == target | {"key": "{{job_id}}"}, shown.target
""",
        ("tests/unit/domain/targets", "tests/unit/api/test_documented_jobs.py", "tests/unit/api/test_openapi.py"),
    ),
    "rule": Recipe(
        5,
        """
with Scheduler() as scheduler:
    job = {"schedule": "* * * * *", "target": HTTP, "completion": "callback", "overlap": "one"}
    scheduler.client.create_job({"id": "slow", **job})
    scheduler.advance(minutes=4, seconds=30)
    states = [(run.state, run.reason) for run in scheduler.client.list_runs("slow") if run.state != "QUEUED"]
    assert states == [("SKIPPED", "overlap_full"), ("SKIPPED", "overlap_full"), ("WAITING", None)], states
""",
        ("tests/unit/domain/jobs/test_overlap_rules.py", "tests/unit/api/test_openapi.py"),
    ),
    "gate": Recipe(
        20,
        """
with Scheduler() as scheduler:
    quiet = {"key": "crm", "from_hour": 22, "until_hour": 6}
    for name, due in (("day", "2026-01-02T21:59:00"), ("night", "2026-01-02T22:00:00")):
        scheduler.client.create_job({"id": name, "schedule": f"at({due})", "target": HTTP, "quiet": quiet})
    scheduler.advance_to("2026-01-03T05:59:59Z")
    runs = [next(iter(scheduler.client.list_runs(name))) for name in ("day", "night")]
    assert [run.state for run in runs] == ["SUCCEEDED", "QUEUED"]
    assert (runs[1].waiting_for, runs[1].quiet_key) == ("quiet", "crm")
    assert scheduler.client.put_limit("crm", quiet={"from_hour": 23, "until_hour": 4}).waiting_for_quiet == 1
    scheduler.advance(minutes=15)
    assert next(iter(scheduler.client.list_runs("night"))).state == "SUCCEEDED"
""",
        (
            *(
                "tests/unit/gates/test_quiet.py",
                "tests/scenarios/overlap/test_quiet.py",
                "tests/unit/cli/test_limits.py",
            ),
            *("tests/unit/api/test_openapi.py", "tests/unit/client/test_generated.py"),
            *("tests/integration/api/test_jobs_over_http.py", "tests/integration/api/test_runs_over_http.py"),
        ),
    ),
    "route": Recipe(
        8,
        """
from click.testing import CliRunner
from duecourse.cli.main import main

with Scheduler() as scheduler:
    scheduler.client.create_job({"id": "a", "schedule": "* * * * *", "target": HTTP})
    scheduler.advance(minutes=3)
    assert scheduler.client.get_lateness("a").runs == 3
    assert scheduler.client.get_lateness("a", from_="2026-01-01T00:03:00Z").runs == 1
assert "newest runs of a job" in CliRunner().invoke(main, ["lateness", "--help"]).output
""",
        (
            *("tests/unit/test_actions.py", "tests/unit/api/test_openapi.py", "tests/unit/api/test_queries.py"),
            *("tests/unit/client/test_generated.py", "tests/unit/cli/test_tables.py"),
            "tests/integration/api/test_tag_scopes.py",
        ),
    ),
    "alarm": Recipe(
        3,
        """
from tests.support.stage_alarms import alarms

assert "audit-slow" in alarms("prod")
""",
        (
            *("tests/infra/observability/test_runbooks.py", "tests/infra/observability/test_alarms.py"),
            *("-k", "AuditSlow or test_runbooks or belongs_to_an_alarm or has_a_failure or says_its_stage"),
        ),
    ),
}


def diffs() -> dict[str, str]:
    """The diffs by their names."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.diff"))}


def apply(diff: str, copy: Copy) -> None:
    """Apply a diff, then write what is generated."""
    copy.run("git", "apply", "-", given=diff)
    copy.python("-m", "scripts.generated")
    copy.python("-m", "scripts.openapi", "docs/api.md")


def lint(files: list[str], copy: Copy) -> None:
    """The checks of the changed files that need no cache."""
    code = [file for file in files if file.endswith(".py")]
    ruff = str(Path(sys.executable).with_name("ruff"))
    copy.run(ruff, "check", "--no-cache", *code)
    copy.run(ruff, "format", "--check", "--no-cache", *code)


def touched(diff: str) -> list[str]:
    """The files of a diff."""
    return re.findall(r"^\+\+\+ b/(\S+)$", diff, re.MULTILINE)


def test_recipes_are_listed_on_the_page_with_their_maximum_number_of_files() -> None:
    listed = re.findall(r"\(docs/recipes/(\w+)\.diff\) \| (\d+) \|", PAGE.read_text(encoding="utf-8"))
    assert set(diffs()) == set(RECIPES)
    assert {name: int(most) for name, most in listed} == {name: recipe.most for name, recipe in RECIPES.items()}


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_change_few_files_and_no_generated_ones(name: str) -> None:
    files = touched(diffs()[name])
    assert len(files) <= RECIPES[name].most
    assert not GENERATED & set(files)


@pytest.fixture(params=RECIPES)
def recipe(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Copy, Recipe]]:
    """A copy of this tree with a recipe applied."""
    copy, diff = Copy(tmp_path), diffs()[request.param]
    apply(diff, copy)
    lint(touched(diff), copy)
    yield copy, RECIPES[request.param]
    shutil.rmtree(tmp_path)


def test_recipes_have_the_described_effect(recipe: tuple[Copy, Recipe]) -> None:
    copy, known = recipe
    copy.python("-c", PREPARED + known.holds)
    copy.python("-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *known.tests)
    copy.run("npm", "test", "--workspace", "console", "--", "src/edit/fields.test.ts")
