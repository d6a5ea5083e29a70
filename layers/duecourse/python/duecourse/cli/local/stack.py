"""MiniStack with the project's stack, for the duration of a context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from duecourse.cli.local.deployment import Deployment, Outputs, Step
from duecourse.cli.local.emulator.ministack import SAVE_SECONDS, MiniStack
from duecourse.cli.local.project import Project


@dataclass(frozen=True, slots=True)
class DataFolder:
    """The folder for the files of a stack: its state, the synthesised app, temporary files and its log.

    If the stack is `kept`, its state is saved when it stops, for the next start.
    """

    folder: Path
    log: Path
    kept: bool = False

    @property
    def state(self) -> Path:
        """MiniStack's saved state."""
        return self.folder / "ministack"

    @property
    def work(self) -> Path:
        """The output of the CDK CLI."""
        return self.folder / "cdk"

    @property
    def temporary(self) -> Path:
        """Temporary files of all child processes."""
        return self.folder / "tmp"

    def make(self) -> None:
        """Create the folders."""
        for folder in (self.state, self.work, self.temporary, self.log.parent):
            folder.mkdir(parents=True, exist_ok=True)


@dataclass(frozen=True, slots=True)
class Stack:
    """A running stack."""

    ministack: MiniStack
    outputs: Outputs

    @property
    def endpoint(self) -> str:
        """MiniStack's address, for AWS clients."""
        return self.ministack.endpoint

    @property
    def api(self) -> str:
        """The address of Duecourse's API."""
        return self.outputs.local_api(self.endpoint)

    @property
    def console(self) -> str | None:
        """The address of the console, or None if there is none."""
        return f"{self.api}/console" if self.outputs.has_console else None


@contextmanager
def local_stack(
    project: Project, place: DataFolder, port: int, step: Step, context: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Stack]:
    """Start MiniStack and deploy the stack into it, with this context of the CDK app. MiniStack always stops at the end
    of the context manager.
    """
    place.make()
    step("MiniStack", f"starting on 127.0.0.1:{port}")
    with MiniStack(
        port=port, state=place.state, temporary=place.temporary, log=place.log, kept=place.kept
    ) as ministack:
        step("MiniStack", f"ready; its log is {place.log}")
        try:
            deployment = Deployment(
                project, endpoint=ministack.endpoint, work=place.work, temporary=place.temporary, context=context
            )
            stack = Stack(ministack=ministack, outputs=deployment.deploy(step))
            step("API", stack.api)
            if stack.console is not None:
                step("console", stack.console)
            yield stack
        finally:
            if not ministack.has_ended:
                step("MiniStack", f"saving its state, for {SAVE_SECONDS:.0f} s at most" if place.kept else "stopping")
            if not ministack.stop() and place.kept:
                step("MiniStack", "its state was NOT saved in time; the next start uses the state of the last stop")
