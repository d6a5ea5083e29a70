"""Jobs as files on the real stack: applied, exported, changed, pruned, by the command."""

from contextlib import closing
from pathlib import Path

from click.testing import CliRunner, Result

from duecourse.cli.local.demo.receiver import OK_PATH
from duecourse.cli.local.emulator import aws
from duecourse.cli.local.emulator.environment import REGION
from duecourse.cli.main import main
from tests.support.waiting import awaited

from .conftest import System

FILES = """\
id: files-nightly
schedule: 0 2 * * *
timezone: Europe/Berlin
target: {type: http, url: "%(url)s"}
---
workflow: files-etl
schedule: 0 3 * * *
jobs:
  files-extract: {job_id: files-extract, job: {target: {type: http, url: "%(url)s"}}}
  files-load: {job_id: files-load, after: [files-extract], job: {target: {type: http, url: "%(url)s"}}}
"""


def command(system: System, *words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--api", system.stack.api])


def test_jobs_as_files_are_applied_exported_reapplied_and_pruned(system: System, tmp_path: Path) -> None:
    file, folder = tmp_path / "jobs.yaml", tmp_path / "jobs"
    file.write_text(FILES % {"url": system.receiver.url + OK_PATH})
    applied = command(system, "apply", "-f", str(file), "--owner", "files", "--yes")
    assert applied.exit_code == 0, applied.output
    assert command(system, "apply", "-f", str(file), "--owner", "files", "--dry-run").exit_code == 0
    exported = command(system, "jobs", "export", "--tag", "managed-by=files", "--dir", str(folder))
    assert exported.exit_code == 0, exported.output
    assert sorted(each.name for each in folder.iterdir()) == ["files-etl.yaml", "files-nightly.yaml"]
    again = command(system, "apply", "-f", str(folder), "--owner", "files", "--prune", "--dry-run")
    assert again.exit_code == 0, again.output
    (folder / "files-etl.yaml").unlink()
    pruned = command(system, "apply", "-f", str(folder), "--owner", "files", "--prune", "--yes")
    assert pruned.exit_code == 0, pruned.output
    assert "plan: 0 to create, 0 to change, 3 to remove, 1 unchanged" in pruned.output
    assert [job.id for job in system.client.list_jobs(tag="managed-by=files")] == ["files-nightly"]


def test_jobs_as_files_crontab_is_imported_applied_and_run_by_a_worker(system: System, tmp_path: Path) -> None:
    queue, folder, commands = "duecourse-target-cron", tmp_path / "cron", tmp_path / "commands.txt"
    with closing(aws.client(system.stack.endpoint, "sqs")) as sqs:
        sqs.create_queue(QueueName=queue)
    (tmp_path / "crontab").write_text(f"0 2 * * * echo it is {{{{done}}}} > {tmp_path}/out; cat {tmp_path}/out\n")
    imported = CliRunner().invoke(
        main,
        [
            *("import", "crontab", str(tmp_path / "crontab"), "--queue", queue, "-o", str(folder)),
            *("--allow-file", str(commands), "--prefix", "files-"),
        ],
    )
    assert imported.exit_code == 0, imported.output
    applied = command(system, "apply", "-f", str(folder), "--yes")
    assert applied.exit_code == 0, applied.output
    (file,) = folder.glob("files-echo-*")
    run = system.client.run_job(file.stem)
    environment = {"AWS_ENDPOINT_URL": system.stack.endpoint, "AWS_REGION": REGION}
    environment |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}

    def worked_on() -> bool:
        worker = ["work", "--shell", "--queue", queue, "--allow", str(commands), "--once", "--api", system.stack.api]
        result = CliRunner(env=environment).invoke(main, worker)
        assert result.exit_code == 0, result.output
        return system.client.get_run(run.id).state == "SUCCEEDED"

    awaited("the command has run", worked_on)
    assert (tmp_path / "out").read_text() == "it is {{done}}\n"
    assert system.client.get_run(run.id).result == {"exit_code": 0, "output": "it is {{done}}"}
