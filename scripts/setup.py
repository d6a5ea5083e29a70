"""Create the project's environment: uv, locked Python packages, the project, Node tools and the generated files.

scripts/setup.sh runs this script for `make setup`, on which every other target depends. It requires Python 3.11 or
later, and uses only the standard library. Each completed step writes a stamp with a hash of its inputs: a second run
does nothing, and a run after an interruption repeats the unfinished step.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.uv import OWN, base_python, environment, find_uv
from scripts.failures import cause_of, cause_of_download, local_cause
from scripts.generated import GenerationError, refresh

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools"
VENV = ROOT / ".venv"
OLDEST_NODE = (20, 19)
REMIND_SECONDS = 10.0
"""How often the duration of a command is printed."""


class SetupError(Exception):
    """A failed setup. The message has the cause and the remedy, in one line."""


def say(text: str) -> None:
    """Print one short line of progress."""
    print(f"setup: {text}", flush=True)


def digest(*names: str) -> str:
    """Return a hash of these files of the project."""
    whole = hashlib.sha256()
    for name in names:
        whole.update(name.encode() + b"\0" + (ROOT / name).read_bytes() + b"\0")
    return whole.hexdigest()


def run(command: list[str], failure: str, env: dict[str, str] | None = None, downloads: str = "") -> str:
    """Run a command, and show its duration. If it fails, show its last lines and raise SetupError with `failure`, the
    cause and the remedy. `downloads` is the name of a tool that downloads.
    """
    begin, quiet = time.monotonic(), subprocess.DEVNULL
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdin=quiet, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        while True:
            try:
                said, _ = process.communicate(timeout=REMIND_SECONDS)
                break
            except subprocess.TimeoutExpired:
                say(f"... {time.monotonic() - begin:.0f} s")
            except BaseException:
                process.kill()
                raise
    if process.returncode:
        for line in said.strip().splitlines()[-12:]:
            print(f"    {line}", file=sys.stderr)
        cause = cause_of_download(said, downloads, env or os.environ) if downloads else local_cause(said)
        raise SetupError(f"{failure}: {cause}" if cause else failure)
    return said


def works(command: list[str]) -> bool:
    """Return whether a command succeeds. Its output is discarded."""
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def find_or_bring_uv() -> str:
    """Return the path of uv, from the PATH or from .tools/. If uv is missing, install it into .tools/ with pip."""
    if found := find_uv():
        return found
    say("installing uv into .tools/ ...")
    building = TOOLS / f"uv.{os.getpid()}"
    shutil.rmtree(building, ignore_errors=True)
    try:
        binary = install_uv(building, base_python())
        OWN.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(binary, building / "ready")
        (building / "ready").replace(OWN)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return str(OWN)


def install_uv(folder: Path, python: str) -> Path:
    """Install uv into `folder` from its hashed lock, with venv or only with pip. Return the path of its binary."""
    wanted = ["-m", "pip", "install", "--quiet", "--require-hashes", "-r", "requirements/uv.txt"]
    failure = "uv could not be installed"
    if works([python, "-m", "venv", str(folder)]):
        run([str(folder / "bin" / "python"), *wanted], failure, downloads="pip")
        return folder / "bin" / "uv"
    if works([python, "-m", "pip", "--version"]):
        run([python, *wanted, "--target", str(folder / "target")], failure, downloads="pip")
        return folder / "target" / "bin" / "uv"
    raise SetupError(
        f"{python} has no working venv and no pip: install them (Debian, Ubuntu: apt-get install python3-venv) or uv"
    )


def make_environment(folder: Path, python: str) -> None:
    """Create a virtual environment of the interpreter `python` in `folder`, and install the locked packages."""
    uv = find_or_bring_uv()
    env = environment()
    made, its_python = folder / ".made", folder / "bin" / "python"
    if not made.exists() or not its_python.exists() or made.read_text() != python:
        say(f"creating {folder.name} with {python} ...")
        shutil.rmtree(folder, ignore_errors=True)
        failure = f"the virtual environment {folder.name} could not be created"
        run([uv, "venv", "--quiet", "--python", python, str(folder)], failure, env)
        made.write_text(python)
    say("installing the locked Python packages ...")
    install = [uv, "pip", "sync", "--quiet", "--require-hashes", "--python", str(its_python), "requirements/dev.txt"]
    run(install, "the Python packages could not be installed", env, "uv")


def install_project(folder: Path) -> None:
    """Install the project into an environment in editable mode, built with the locked packages."""
    uv = find_or_bring_uv()
    env = environment()
    say("installing the project ...")
    offline = ["--offline", "--no-index", "--no-deps", "--no-build-isolation"]
    run(
        [uv, "pip", "install", "--quiet", *offline, "--python", str(folder / "bin" / "python"), "--editable", "."],
        f"the project could not be installed into {folder.name}",
        env,
    )


def check_node() -> None:
    """Check that Node and npm are installed and recent enough. Raises SetupError."""
    needed = "Node.js {}.{} or newer (with npm) is needed".format(*OLDEST_NODE)
    if not shutil.which("node") or not shutil.which("npm"):
        raise SetupError(f"{needed} and was not found on the PATH: install it and try again")
    said = run(["node", "--version"], f"{needed}; `node --version` fails")
    version = re.match(r"v(\d+)\.(\d+)", said)
    if version and (int(version[1]), int(version[2])) < OLDEST_NODE:
        raise SetupError(f"{needed}; this is {said.strip()}")


def install_node_tools() -> None:
    """Install the CDK command line, DynamoDB Local and the build tools of the console from the lock."""
    say("installing the Node tools (CDK command line, DynamoDB Local, croner, the console's packages) ...")
    quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    run(["npm", "ci", *quiet], "the Node tools could not be installed", downloads="npm")


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold a lock, so that only one setup at a time runs in a folder."""
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / "setup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another setup is running here; waiting for it ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def step(name: str, wanted: str, there: Path, work: Callable[[], None]) -> bool:
    """Do `work`, unless `there` exists and the stamp of the step contains `wanted`. Return whether `work` was done."""
    stamp = TOOLS / f"{name}.stamp"
    if there.exists() and stamp.exists() and stamp.read_text() == wanted:
        return False
    stamp.unlink(missing_ok=True)
    work()
    stamp.write_text(wanted)
    return True


def setup() -> None:
    """Run all steps. Missing tools are reported before the first download."""
    began = time.monotonic()
    with one_at_a_time():
        python_wanted = f"{base_python()} {digest('requirements/dev.txt')}"
        project_wanted = f"{python_wanted} {digest('pyproject.toml')}"
        node_wanted = digest("package-lock.json")
        if not (TOOLS / "node.stamp").exists() or not shutil.which("node"):
            check_node()
        changed = step("python", python_wanted, VENV / "bin" / "python", lambda: make_environment(VENV, base_python()))
        changed |= step("project", project_wanted, VENV / "bin" / "duecourse", lambda: install_project(VENV))
        changed |= step("node", node_wanted, ROOT / "node_modules" / ".bin" / "cdk", install_node_tools)
        changed |= refresh(str(VENV / "bin" / "python"))
    if changed:
        say(f"ready after {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    try:
        setup()
    except (SetupError, GenerationError) as error:
        sys.exit(f"setup: {error}")
    except OSError as error:
        sys.exit(f"setup: {cause_of(error, ROOT)}")
    except KeyboardInterrupt:
        sys.exit("setup: interrupted; run the same command again to continue")
