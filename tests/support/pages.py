"""Pages of the documentation as a reader follows them: the files that they show, their commands and what these print.

A ``` block with a `title` is a file. A `bash` block is run, a hidden `<!-- bash: … -->` too. A `text` block is what the
commands before it print: each of its lines in this order, anything where it has `…`; other lines may be in between.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from markdown_it import MarkdownIt

HIDDEN = re.compile(r"<!-- bash: (.*?) -->", re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')
MARK = "=== end of block ==="


AWS = """\
#!{python}
# Those of AWS's commands that the pages use, for machines without its command line.
import json, sys, boto3
service, action, *options = sys.argv[1:]
names = [name.removeprefix("--").title().replace("-", "") for name in options[::2]]
values = [json.loads(value) if value.startswith("[") else value for value in options[1::2]]
arguments = dict(zip(names, values))
getattr(boto3.client(service), action.replace("-", "_"))(**arguments)
"""


@dataclass
class Step:
    """Files to write, a script to run, and lines that it prints."""

    files: dict[str, str] = field(default_factory=dict)
    script: str = ""
    printed: list[str] = field(default_factory=list)


def steps(page: Path) -> Iterator[Step]:
    """The steps of a page, in order."""
    step = Step()
    for token in MarkdownIt().parse(page.read_text()):
        kind = token.info.partition(" ")[0] if token.type == "fence" else ""
        title = TITLE.search(token.info) if kind else None
        hidden = HIDDEN.search(token.content) if token.type == "html_block" else None
        if title is not None:
            if step.script:
                yield step
                step = Step()
            step.files[title[1]] = token.content
        elif kind == "bash" or hidden is not None:
            if step.script:
                yield step
                step = Step()
            step.script = hidden[1] if hidden is not None else token.content
        elif kind == "text":
            step.printed = [line for line in token.content.splitlines() if line.strip()]
    yield step


def follow(page: Path, folder: Path, environment: Mapping[str, str], places: Mapping[str, str]) -> None:
    """Do what a page says, in a folder, in one shell; what it calls `places` is somewhere else here.

    Raises AssertionError with what was printed where a command fails or says something else.
    """

    def here(text: str) -> str:
        for name, place in places.items():
            text = text.replace(name, place)
        return text

    found = list(steps(page))
    script = ["set -euo pipefail"]
    for number, step in enumerate(found):
        for name, content in step.files.items():
            written = folder / ".pages" / f"{number}" / name
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(here(content))
            script.append(shlex.join(["install", "-D", "-m", "644", str(written), name]))
        script += [here(step.script), f"echo {MARK!r}"]
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{page.name}: {done.stdout}\n{done.stderr}"
    for step, printed in zip(found, done.stdout.split(MARK), strict=False):
        lines = iter(printed.splitlines())
        for wanted in step.printed:
            pattern = re.compile(".*".join(map(re.escape, wanted.split("…"))).replace(r"\ ", r"\s+"))
            assert any(pattern.search(line) for line in lines), (
                f"{page.name}: no {wanted!r} in\n{printed}\n{done.stderr}"
            )


def shell(commands: Path, endpoint: str, api: str) -> dict[str, str]:
    """The environment of a shell with the command, this Python, a stack's address and its AWS."""
    commands.mkdir()
    aws = commands / "aws"
    aws.write_text(AWS.format(python=sys.executable))
    aws.chmod(0o755)
    # By the shell's clock it is about noon, so that "today" neither begins nor ends while a page is followed.
    zone = {"TZ": f"DUE{datetime.now(UTC).hour - 12:+d}"}
    credentials = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "DUECOURSE_"))},
        **credentials,
        **zone,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        "DUECOURSE_API": api,
        "NO_PROXY": "127.0.0.1",
        "PATH": f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
