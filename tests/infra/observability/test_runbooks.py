"""The runbooks: a section for every alarm, an alarm for every section, and commands that are understood."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import botocore.session
import click
import jmespath
import pytest
from botocore import xform_name

from duecourse.cli.main import main
from infra.settings.stores_config import OWN
from tests.support.source import PACKAGE
from tests.support.stage_alarms import alarms, section_of
from tests.support.template import ROOT, resources, template

RUNBOOKS = ROOT / "docs" / "runbooks.md"
FUNCTIONS = ROOT / "docs" / "runbooks.sh"
RENAMED = {"subscribe": {"notification-endpoint"}}
"""What the command line calls otherwise than the API."""
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
GENERAL = {"before-you-begin", "throttling"}
OF_THE_COMMAND_LINE = {
    "query", "output", "region", "profile", "no-cli-pager", "cli-binary-format", "max-items", "endpoint-url",
    "cli-read-timeout", "cli-input-json", "no-paginate",
}  # fmt: skip


def text(page: Path) -> str:
    return page.read_text()


def anchors(page: Path) -> list[str]:
    """As the forge makes them: lower case, spaces as hyphens, no other signs."""
    titles = re.findall(r"^#{1,6} (.+)$", without_code(text(page)), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles]


def without_code(page: str) -> str:
    return re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


def sections() -> set[str]:
    titles = re.findall(r"^## (.+)$", without_code(text(RUNBOOKS)), re.MULTILINE)
    return {title.lower().replace(" ", "-") for title in titles} - GENERAL


def named(stage: str) -> dict[str, str]:
    """The section that each alarm names."""
    return {name: section_of(each) for name, each in alarms(stage).items()}


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_runbooks_every_alarm_links_to_an_existing_section(stage: str) -> None:
    missing = {name: section for name, section in named(stage).items() if section not in sections()}
    assert not missing


def test_runbooks_every_section_belongs_to_an_alarm() -> None:
    assert sections() - set(named("prod").values()) == set()


def test_runbooks_every_section_answers_the_standard_questions() -> None:
    for section in re.split(r"^## ", text(RUNBOOKS), flags=re.MULTILINE)[2:]:
        if section.startswith("Throttling"):
            continue
        title = section.splitlines()[0].strip()
        for asked in ("meaning", "impact", "diagnosis", "causes", "mitigation", "resolved when", "do not"):
            words = re.sub(r"\s+", " ", section)
            assert re.search(rf"\*\*[^*]*\b{asked}\b[^*]*\*\*", words, re.IGNORECASE), f"{title}: {asked}"


def links() -> Iterator[tuple[Path, Path, str]]:
    for page in PAGES:
        for target, _, anchor in re.findall(r"\]\(([^)#:\s]*)(#([^)\s]+))?\)", without_code(text(page))):
            yield page, (page if not target else (page.parent / target).resolve()), anchor


def test_runbooks_links_between_pages_resolve() -> None:
    assert {f"{page.name}: {target.name}" for page, target, _ in links() if not target.exists()} == set()
    for page, target, anchor in links():
        assert not anchor or anchor in anchors(target), f"{page.name}: {target.name}#{anchor}"


def test_runbooks_doctor_links_to_existing_sections() -> None:
    for source in (PACKAGE / "duecourse" / "cli" / "doctor").glob("*.py"):
        code = text(source)
        for page, anchor in re.findall(r"docs/(\w+)\.md#([\w-]+)", code):
            assert anchor in anchors(ROOT / "docs" / f"{page}.md"), f"{source.name}: {page}#{anchor}"
        spelt = re.findall(r'runbook\(\s*"([\w-]+)"', code) + re.findall(
            r'runbook\("([\w-]+)" if \w+ else "([\w-]+)"\)', code
        )
        for each in spelt:
            for anchor in (each,) if isinstance(each, str) else each:
                assert anchor in anchors(RUNBOOKS), f"{source.name}: {anchor}"


def commands(page: Path) -> Iterator[str]:
    """Every `duecourse` command of a page, in code blocks and in spans; of a span the name alone is no command yet."""
    blocks = re.findall(r"^```(?:bash|sh|console)?\n(.*?)^```$", text(page), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    spans = re.findall(r"`((?:\.venv/bin/)?duecourse [^`\n]+)`", without_code(text(page)))
    for line in lines + [span for span in spans if re.search(r"duecourse \S+ \S+ ", span)]:
        if found := re.match(r"(?:.*\| ?)?(?:\.venv/bin/)?duecourse( .+)$", line):
            yield found.group(1)


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "quickstart"], ids=lambda page: page.name)
def test_runbooks_every_duecourse_command_exists(page: Path) -> None:
    """The quick start and the how-tos are followed on a stack (tests/e2e/test_pages.py)."""
    for command in commands(page):
        understood(shlex.split(command, comments=True))


def understood(arguments: list[str]) -> None:
    """Parse as the command line does, without doing anything."""
    command: click.Command = main
    context: click.Context | None = None
    name, rest = "duecourse", arguments
    while True:
        context = command.make_context(name, rest, parent=context)
        if not isinstance(command, click.Group):
            return
        left = [*context._protected_args, *context.args]
        if not left:
            return
        _, found, rest = command.resolve_command(context, left)
        command, name = found, str(found.name)


def code_of(page: Path) -> str:
    """Its blocks of commands, indented ones too, each command on a line of its own."""
    if page == FUNCTIONS:
        return re.sub(r"^#.*$|\\\n *", " ", text(page), flags=re.MULTILINE)
    blocks = re.findall(r"^ *```(\w*)\n(.*?)^ *```$", text(page), re.MULTILINE | re.DOTALL)
    code = "\n".join(block for language, block in blocks if language in ("", "bash", "sh"))
    return re.sub(r"\\\n *", " ", code)


def aws_commands() -> Iterator[tuple[str, str, set[str]]]:
    """Service, operation and options of every AWS command of the pages."""
    for page in (*PAGES, FUNCTIONS):
        code = re.sub(r"\$\((output|queue_arn|ago) [^)]*\)", "VALUE", code_of(page))
        # One that is nested in another ends it here; what follows of the outer one is not looked at.
        for each in re.split(r"\baws (?=[a-z0-9-]+ [a-z])", code)[1:]:
            line = each.splitlines()[0]
            service, operation, *words = line.split()
            operation = f"wait {words[0]}" if operation == "wait" else operation
            yield service, operation.strip(")\"'"), set(re.findall(r"(?<=\s--)[a-z][a-z-]+", " " + before_end(line)))


def before_end(line: str) -> str:
    """Up to the bracket that closes a nested command, or to a pipe."""
    return re.split(r"\)\"|\)$| \| (?!\[|sort|stats|limit|filter|fields)|; ", line)[0]


@cache
def operations(service: str) -> dict[str, Any]:
    model = botocore.session.get_session().get_service_model(service)
    return {xform_name(name, "-"): model.operation_model(name) for name in model.operation_names}


def test_runbooks_every_aws_command_and_its_options_exist() -> None:
    looked_at = 0
    for called, operation, options in aws_commands():
        service = {"s3api": "s3", "deploy": "codedeploy"}.get(called, called)
        known = operations(service)
        if operation.startswith("wait "):
            waiters = botocore.session.get_session().get_waiter_model(service).waiter_names
            assert operation.removeprefix("wait ") in {xform_name(name, "-") for name in waiters}
            continue
        assert operation in known, f"aws {service} {operation}"
        shape = known[operation].input_shape
        members = set() if shape is None else {xform_name(member, "-") for member in shape.members}
        members |= {f"no-{member}" for member in members} | RENAMED.get(operation, set())
        assert options <= members | OF_THE_COMMAND_LINE, f"aws {service} {operation}: {options - members}"
        looked_at += 1
    assert looked_at > 30


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_runbooks_invocations_wait_at_least_the_function_timeout(page: Path) -> None:
    """The command line gives up after a minute and invokes once more: the work would be done twice, side by side."""
    for line in re.findall(r"[^\n;&]*\baws lambda invoke\b[^\n]*", code_of(page)):
        if "--invocation-type Event" in line:
            continue
        found = re.search(r"output (\w+Function)|\$FUNCTION\b", line)
        assert found is not None, line
        reference = template("prod")["Outputs"][found[1] or "ArchiveFunction"]["Value"]["Ref"]
        takes = template("prod")["Resources"][reference]["Properties"]["Timeout"]
        waits = re.search(r"--cli-read-timeout (\d+)", line)
        assert takes < (60 if waits is None else int(waits[1])), line
        assert waits is None or "AWS_MAX_ATTEMPTS=1 aws" in line, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_runbooks_queue_reads_use_long_polling(page: Path) -> None:
    """A short poll asks some of its servers only, and may find nothing in a queue that holds messages."""
    for line in re.findall(r"aws sqs receive-message\b[^\n]*", code_of(page)):
        assert "--wait-time-seconds" in line, line


def test_runbooks_query_expressions_are_valid() -> None:
    for page in (*PAGES, FUNCTIONS):
        found = re.findall(r"--query (?:\"([^\"]+)\"|'([^']+)'|([\w.]+))", text(page))
        for expressions in found:
            jmespath.compile("".join(expressions))


def test_runbooks_named_outputs_exist_in_the_stack() -> None:
    outputs = set(template("prod", encryption_key=OWN)["Outputs"])
    for page in (*PAGES, FUNCTIONS):
        code = text(page)
        asked = set(re.findall(r"\b(?:output|queue_arn) ([A-Z]\w+)", code)) - {"NAME", "OUTPUT"}
        for several in re.findall(r'\b(?:logged|WORKERS=)"?([^"\n]*?)"? ?(?=\d|$)', code, re.MULTILINE):
            asked |= set(re.findall(r"\b[A-Z]\w+Function\b", several))
        assert asked <= outputs, asked - outputs


def test_runbooks_searched_actions_are_logged() -> None:
    """docs/observability.md lists all of them, and is held against the code by a test of its own."""
    logged = set(re.findall(r"^\| `(\w+)` \|", text(ROOT / "docs" / "observability.md"), re.MULTILINE))
    for page in PAGES:
        found = set(re.findall(r"action = '(\w+)'", text(page)))
        for several in re.findall(r"action in \[([^\]]+)\]", text(page)):
            found |= set(re.findall(r"\w+", several))
        assert found <= logged, f"{page.name}: {found - logged}"


def test_runbooks_emergency_stop_disables_every_rule_and_every_queue_mapping() -> None:
    values = {name: each["Value"] for name, each in template("prod")["Outputs"].items()}
    outputs = {value["Ref"]: name for name, value in values.items() if isinstance(value, dict) and "Ref" in value}
    started = {
        outputs[target["Arn"]["Fn::GetAtt"][0]]
        for rule in resources("prod", "AWS::Events::Rule").values()
        for target in rule["Properties"]["Targets"]
        if target["Arn"]["Fn::GetAtt"][0] in resources("prod", "AWS::Lambda::Function")  # else it only fills a queue
    }
    read = {
        outputs[each["Properties"]["EventSourceArn"]["Fn::GetAtt"][0]]
        for each in resources("prod", "AWS::Lambda::EventSourceMapping").values()
    } - {"RunsTable"}  # what expires can be archived meanwhile
    page = text(FUNCTIONS)
    for function, stopped in (("rules", started), ("sources", read)):
        found = re.search(rf"^{function}\(\) \{{.*?for each in ([^;]+);", page, re.MULTILINE | re.DOTALL)
        assert found is not None
        assert set(found[1].split()) == stopped


def test_runbooks_deletion_page_covers_every_resource_that_outlives_the_stack() -> None:
    outliving = {
        each["Type"]
        for each in template("prod", encryption_key=OWN)["Resources"].values()
        if each.get("DeletionPolicy") not in (None, "Delete")
    }
    page = text(ROOT / "docs" / "deleting.md")
    taken_up = dict(re.findall(r"\b([A-Z]+)=\$\(has (AWS::\w+::\w+)\)", page))
    assert set(taken_up.values()) == outliving - {"AWS::Lambda::Version"}, "a function's versions go with it"
    last_steps = page[page.index("## 6. ") :]
    for name in taken_up:
        assert re.search(rf"\${name}\b", last_steps), name


def test_runbooks_page_on_deleting_a_stage_empties_the_log_bucket_last_and_warns_first(tmp_path: Path) -> None:
    page = text(ROOT / "docs" / "deleting.md")
    step = page[page.index("## 4. ") : page.index("## 5. ")]
    assert step.index("**In prod, this step deletes the history.**") < step.index("```bash")
    (logs,) = [name for name in resources("prod", "AWS::S3::Bucket") if name.startswith("AccessLogs")]
    others = set(resources("prod", "AWS::S3::Bucket")) - {logs}
    names = [f"duecourse-prod-{name.lower()}-1a2b" for name in (logs, *sorted(others))]
    code = re.findall(r"^```bash\n(.*?)^```$", step, re.MULTILINE | re.DOTALL)[0]
    aws = 'aws() { [ "$2" != list-object-versions ] || echo "$4" >> emptied; }\n'
    environment = {**os.environ, "BUCKETS": " ".join(names)}
    subprocess.run(["bash", "-c", aws + code], cwd=tmp_path, env=environment, check=True)
    emptied = (tmp_path / "emptied").read_text().split()
    assert sorted(emptied) == sorted(names)
    assert emptied[-1] == names[0]
