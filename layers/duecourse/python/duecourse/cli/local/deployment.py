"""Deploys the project's CDK app to MiniStack with the CDK CLI, in the same way as to AWS.

Unchanged parts are skipped: synthesis if the sources of the app have not changed, and the deployment if the stack has
the same template. The names of assets depend on their content, so the template identifies them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from types import MappingProxyType
from urllib.parse import urlsplit

from duecourse.cli.local.emulator import aws, environment, process
from duecourse.cli.local.emulator.environment import ACCOUNT, REGION, STACK_NAME, STAGE
from duecourse.cli.local.project import Project, digest
from duecourse.cli.local.remedies import remedied
from duecourse.cli.terminal import CliError

LOCAL_API_PATH = "/_aws/execute-api/"

_RESOURCE = re.compile(r"\|\s*(\d+)/(\d+)\s*\|[^|]*\|\s*([A-Z_]+)\s*\|\s*(\S+)")
_PUBLISHED = re.compile(r"success: Published")
_SYNTHESISED = re.compile(r"Synthesis time: ([\d.]+)s")
KEPT_LINES = 12
STOP_SECONDS = 5.0
REMIND_SECONDS = 10.0
TOOLKIT = "CDKToolkit"
Say = Callable[[str], None]
Step = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs that the local stack's helpers need."""

    api_url: str
    dead_letter_queue_url: str
    deaths_topic_arn: str
    pages_topic_arn: str
    tickets_topic_arn: str
    tick_function: str
    has_console: bool = False
    """There is no console if people log in with an issuer that does not support it."""

    @classmethod
    def from_mapping(cls, found: Mapping[str, str]) -> Outputs:
        """Return the outputs, read by the names that they have in every stage."""
        try:
            return cls(
                api_url=found["ApiUrl"],
                dead_letter_queue_url=found["DeadLetterQueueUrl"],
                deaths_topic_arn=found["DeathsTopicArn"],
                pages_topic_arn=found["PagesTopicArn"],
                tickets_topic_arn=found["TicketsTopicArn"],
                tick_function=found["TickFunction"],
                has_console="ConsoleUrl" in found,
            )
        except KeyError as missing:
            raise CliError(f"the stack {STACK_NAME} has no output {missing.args[0]}") from missing

    def local_api(self, endpoint: str) -> str:
        """Return the API's address on this machine. MiniStack serves the default stage without its name in the path."""
        return f"{endpoint}{LOCAL_API_PATH}{api_id(self.api_url)}"


def api_id(url: str) -> str:
    """Return the id in `https://<id>.execute-api...` or `http://127.0.0.1:<port>/_aws/execute-api/<id>/...`."""
    parts = urlsplit(url)
    if LOCAL_API_PATH in parts.path:
        return parts.path.split(LOCAL_API_PATH, 1)[1].split("/", 1)[0]
    return (parts.hostname or "").split(".", 1)[0]


@contextmanager
def _reminders(say: Callable[[float], None]) -> Iterator[None]:
    """Say every REMIND_SECONDS for how many seconds the block has lasted."""
    ended, begin = Event(), time.monotonic()

    def remind() -> None:
        while not ended.wait(REMIND_SECONDS):
            say(time.monotonic() - begin)

    thread = Thread(target=remind, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class CdkProgress:
    """Reads the output of the CDK CLI line by line and reports only its important events."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._published = 0
        self._quarters = 0

    def line(self, text: str) -> None:
        """Read one line of the CDK CLI's output."""
        if found := _SYNTHESISED.search(text):
            self._say(f"synthesised in {float(found.group(1)):.0f} s")
        elif _PUBLISHED.search(text):
            self._published += 1
        elif "creating CloudFormation changeset" in text:
            if self._published:
                self._say(f"{self._published} assets published")
        elif "FAILED" in text or text.startswith(("❌", "Error")):
            self._say(text.strip())
        elif found := _RESOURCE.search(text):
            self._resource(int(found.group(1)), int(found.group(2)), found.group(4))
        elif "(no changes)" in text:
            self._say("nothing has changed")

    def _resource(self, done: int, total: int, kind: str) -> None:
        quarter = min(4 * done // total, 4)  # an update also counts the resources that do not change
        if quarter > self._quarters:
            self._quarters = quarter
            self._say(f"{done} of {total} resources, now {kind}")


class Deployment:
    """One deployment of the `local` stage. `work` stores the synthesised app and the digest of its sources."""

    def __init__(
        self,
        project: Project,
        *,
        endpoint: str,
        work: Path,
        temporary: Path,
        context: Mapping[str, str] = MappingProxyType({}),
        region: str = REGION,
        inherited: Mapping[str, str] = os.environ,
    ) -> None:
        """`context` is the context of the CDK app in addition to the stage."""
        self._region = region
        self._project = project
        self._context = context
        self._endpoint = endpoint
        self._work = work
        self._synthesised = work / "cdk.out"
        self._template = self._synthesised / f"{STACK_NAME}.template.json"
        self._made_from = work / "made-from"
        self._environment = environment.cdk(inherited, endpoint=endpoint, temporary=temporary, region=region)

    def deploy(self, step: Step) -> Outputs:
        """Deploy the stack unless the same template is deployed already. Return its outputs."""
        sources = digest(self._project.root) + "".join(f" {name}={value}" for name, value in self._context.items())
        known = self._made_from.exists() and self._template.exists()
        unchanged = known and self._made_from.read_text() == sources
        if unchanged and self._stands():
            step("cdk deploy", "nothing has changed")
        else:
            self._bootstrap(lambda text: step("cdk bootstrap", text))
            if not unchanged:
                self._made_from.unlink(missing_ok=True)  # an incomplete synthesis must not match any sources
            self._deploy(unchanged, lambda text: step("cdk deploy", text))
            self._made_from.write_text(sources)
        stack = aws.stack(self._endpoint, STACK_NAME, self._region)
        if stack is None:
            raise CliError(f"the stack {STACK_NAME} is not complete after its deployment")
        return Outputs.from_mapping({each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]})

    def _stands(self) -> bool:
        """Return whether the deployed stack has the last synthesised template."""
        if aws.stack(self._endpoint, STACK_NAME, self._region) is None:
            return False
        deployed = aws.template(self._endpoint, STACK_NAME, self._region)
        return bool(deployed == json.loads(self._template.read_text()))

    def _bootstrap(self, say: Say) -> None:
        """Create the bucket and the roles that deployments need, unless they exist already."""
        if aws.stack(self._endpoint, TOOLKIT, self._region) is not None:
            return
        say("creating the deployment bucket and roles")
        # Run in a folder without an app. Inside the project, the CLI would synthesise the app first, which is not
        # needed.
        self._run(["bootstrap", f"aws://{ACCOUNT}/{self._region}"], self._work, say, "cdk bootstrap failed")

    def _deploy(self, unchanged: bool, say: Say) -> None:
        say(f"{'deploying' if unchanged else 'synthesising'} the app with stage {STAGE}")
        app = ["--app"] if unchanged else ["-c", f"stage={STAGE}", "--output"]
        command = ["deploy", STACK_NAME, *app, str(self._synthesised)]
        command += [word for each in self._context.items() if not unchanged for word in ("-c", "=".join(each))]
        command += ["--require-approval", "never", "--progress", "events"]
        self._run(command, self._project.root, say, "cdk deploy failed")

    def _run(self, arguments: Sequence[str], folder: Path, say: Say, failure: str) -> None:
        command = [str(self._project.node), str(self._project.cdk.resolve()), *arguments, "--no-notices", "--ci"]
        progress = CdkProgress(say)
        last: deque[str] = deque(maxlen=KEPT_LINES)
        child = process.start(command, environment=self._environment, folder=folder, output=subprocess.PIPE)
        try:
            with _reminders(lambda seconds: say(f"still in progress, for {seconds:.0f} s")):
                for raw in child.stdout or ():
                    if line := raw.decode(errors="replace").rstrip():
                        last.append(line)
                        progress.line(line)
                status = child.wait()
        finally:
            process.stop(child, STOP_SECONDS)
        if status:
            what = remedied(f"{failure} (exit code {status})", "\n".join(last))
            raise CliError(f"{what}; its last lines:\n" + "\n".join(f"  {x}" for x in last))
