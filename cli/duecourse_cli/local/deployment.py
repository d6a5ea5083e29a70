"""The project's CDK app, deployed to MiniStack by the CDK CLI just as it is deployed to AWS."""

from __future__ import annotations

import os
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from duecourse_cli.errors import CliError
from duecourse_cli.local import aws, environment, process
from duecourse_cli.local.environment import ACCOUNT, REGION, STACK_NAME, STAGE
from duecourse_cli.local.outputs import Outputs
from duecourse_cli.local.progress import CdkProgress
from duecourse_cli.local.project import Project

KEPT_LINES = 12
STOP_SECONDS = 5.0
TOOLKIT = "CDKToolkit"

Say = Callable[[str], None]


class Deployment:
    """One deployment of stage `local`; `work` keeps what was synthesised and the stack's outputs."""

    def __init__(
        self,
        project: Project,
        *,
        endpoint: str,
        work: Path,
        temporary: Path,
        inherited: Mapping[str, str] = os.environ,
    ) -> None:
        self._project = project
        self._endpoint = endpoint
        self._work = work
        self._environment = environment.cdk(inherited, endpoint=endpoint, temporary=temporary)

    def bootstrap(self, say: Say) -> None:
        """Make the bucket and the roles that deployments need, unless they are there already."""
        if aws.stack_exists(self._endpoint, TOOLKIT):
            say("done before")
            return
        # In a folder without an app: inside the project the CLI would synthesise it first, for nothing.
        self._run(["bootstrap", f"aws://{ACCOUNT}/{REGION}"], self._work, say, "cdk bootstrap failed")

    def deploy(self, say: Say) -> Outputs:
        """Deploy the stack and read its outputs."""
        outputs = self._work / "outputs.json"
        outputs.unlink(missing_ok=True)
        command = ["deploy", STACK_NAME, "-c", f"stage={STAGE}", "--require-approval", "never"]
        command += ["--outputs-file", str(outputs), "--output", str(self._work / "cdk.out"), "--progress", "events"]
        self._run(command, self._project.root, say, "cdk deploy failed")
        return Outputs.read(outputs)

    def _run(self, arguments: Sequence[str], folder: Path, say: Say, failure: str) -> None:
        command = [str(self._project.node), str(self._project.cdk.resolve()), *arguments, "--no-notices", "--ci"]
        progress = CdkProgress(say)
        last: deque[str] = deque(maxlen=KEPT_LINES)
        child = process.start(command, environment=self._environment, folder=folder, output=subprocess.PIPE)
        try:
            for raw in child.stdout or ():
                if line := raw.decode(errors="replace").rstrip():
                    last.append(line)
                    progress.line(line)
            status = child.wait()
        finally:
            process.stop(child, STOP_SECONDS)
        if status:
            raise CliError(f"{failure} (exit status {status}); its last lines:\n" + "\n".join(f"  {x}" for x in last))
