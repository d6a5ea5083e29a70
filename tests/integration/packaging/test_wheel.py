"""What `pip install duecourse` gives a program: the wheel as it is built, beside what it requires and nothing else."""

import subprocess
import sys
from importlib.metadata import PathDistribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from tests.support.distributions import link, needed
from tests.support.http_target import answering, http_target
from tests.support.template import ROOT


def build(project: Path, folder: Path) -> Path:
    """The wheel of a project, unpacked as pip does it."""
    build = f"from hatchling.build import build_wheel; build_wheel({str(folder)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=project, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    with ZipFile(built) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel of `duecourse`."""
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


def run(wheel: Path, tmp_path: Path, program: str, extra: str = "") -> str:
    """What a program prints that has the wheel with what it requires, and nothing else."""
    site = tmp_path / "site"
    site.mkdir(parents=True)
    link(site, needed(requirements(wheel), extra))
    lines = f"import sys; sys.path += {[str(wheel), str(site)]!r}\n{program}"
    command = [sys.executable, "-I", "-S", "-c", lines]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={})
    assert done.returncode == 0, done.stderr
    return done.stdout


def metadata(wheel: Path) -> PathDistribution:
    (folder,) = wheel.glob("*.dist-info")
    return PathDistribution(folder)


def requirements(wheel: Path) -> list[str]:
    return metadata(wheel).requires or []


def test_wheel_requires_only_an_http_client_and_time_zones(wheel: Path) -> None:
    base = [Requirement(line) for line in requirements(wheel)]
    assert [each.name for each in base if each.marker is None] == ["httpx", "tzdata"]
    assert (wheel / "duecourse" / "py.typed").is_file()


@pytest.mark.parametrize("project", [".", "cdk", "schedules"])
def test_wheel_has_the_licence_and_complete_metadata(project: str, tmp_path: Path) -> None:
    built = metadata(build(ROOT / project, tmp_path))
    said = built.metadata
    assert (said["License-Expression"], said["License-File"]) == ("Apache-2.0", "LICENSE")
    assert built.read_text("licenses/LICENSE") == (ROOT / "LICENSE").read_text()
    assert said["Author"] == "Duecourse contributors"
    assert said["Summary"]
    assert said["Keywords"]
    assert said["Description-Content-Type"] == "text/markdown"
    readme = (ROOT / project / "README.md").read_text()
    assert said.get_payload() == readme
    assert "Typing :: Typed" in said.get_all("Classifier", [])


def test_wheel_client_works_with_only_its_dependencies(wheel: Path, tmp_path: Path) -> None:
    job = b'{"id": "hello", "schedule": "rate(1 minute)", "state": "active"}'
    with http_target(answering(200, job)) as api:
        program = f"""
from duecourse.client import Client
with Client({api.url("")!r}, trust_env=False) as duecourse:
    job = duecourse.create_job({{"id": "hello", "schedule": "rate(1 minute)", "target": {{}}}})
print(job.id)
import duecourse.webhooks
print(sorted({{"boto3", "botocore", "pydantic", "click", "rich"}} & set(sys.modules)))
"""
        said = run(wheel, tmp_path, program)
    assert said.splitlines() == ["hello", "[]"]


def test_wheel_schedules_need_only_the_time_zone_data(wheel: Path, tmp_path: Path) -> None:
    program = """
before = set(sys.modules)
from datetime import UTC, datetime
from duecourse import schedules
print(schedules.next("30 2 * * *", tz="Europe/Berlin", after=datetime(2026, 3, 28, 12, tzinfo=UTC)))
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(name for name in loaded - sys.stdlib_module_names if name[0] != "_"))
"""
    found = "['duecourse', 'duecourse_schedules', 'tzdata']"
    assert run(wheel, tmp_path, program).splitlines() == ["2026-03-29 03:00:00+02:00", found]


def test_wheel_of_the_engine_runs_its_readme_with_only_the_time_zone_data(tmp_path: Path) -> None:
    engine = build(ROOT / "schedules", tmp_path)
    assert requirements(engine) == ["tzdata"]
    assert (engine / "duecourse_schedules" / "py.typed").is_file()
    program = f"""
from doctest import testfile
print(testfile({str(ROOT / "schedules" / "README.md")!r}, module_relative=False).failed, "duecourse" in sys.modules)
"""
    assert run(engine, tmp_path / "installed", program) == "0 False\n"


def test_wheel_command_works_with_its_extra(wheel: Path, tmp_path: Path) -> None:
    program = """
from duecourse.cli.main import main
main(["next", "0 2 * * *", "--tz", "Europe/Berlin", "--count", "1", "--after", "2026-11-22T00:00:00Z"])
"""
    assert "2026-11-22" in run(wheel, tmp_path, program, "cli")


def test_wheel_command_names_its_extra_if_it_is_not_installed(wheel: Path, tmp_path: Path) -> None:
    program = """
from duecourse.cli import start
try:
    start()
except SystemExit as problem:
    print(problem)
"""
    said = run(wheel, tmp_path, program, "testing")
    assert said == "duecourse: the command is not installed; install it with: pip install 'duecourse[cli]'\n"


def test_wheel_clients_are_package_names_imported_on_first_use(wheel: Path, tmp_path: Path) -> None:
    program = """
import duecourse
print("httpx" in sys.modules)
from duecourse import AsyncClient, Client
print(Client.__name__, AsyncClient.__name__, "httpx" in sys.modules)
"""
    assert run(wheel, tmp_path, program).splitlines() == ["False", "Client AsyncClient True"]


def test_wheel_provides_the_test_scheduler_with_its_extra(wheel: Path, tmp_path: Path) -> None:
    program = """
from duecourse.testing import Scheduler
with Scheduler(now="2026-03-28T00:00:00Z") as scheduler:
    target = {"type": "http", "url": "https://example.com/x"}
    scheduler.client.create_job({"id": "nightly", "schedule": "30 2 * * *", "target": target})
    print([call.run_id for call in scheduler.advance(days=2)])
"""
    assert run(wheel, tmp_path, program, "testing") == "['nightly.20260328T023000Z', 'nightly.20260329T023000Z']\n"


def test_wheel_test_scheduler_names_its_extra_if_it_is_not_installed(wheel: Path, tmp_path: Path) -> None:
    program = """
import duecourse.testing
try:
    duecourse.testing.Scheduler
except ImportError as problem:
    print(problem)
"""
    assert run(wheel, tmp_path, program).endswith('run pip install "duecourse[testing]"\n')
