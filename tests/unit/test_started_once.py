"""What the workers of a test session share is started once and ended after the last of them."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, Event

import pytest

from tests.support.shared import filled_once, shared
from tests.support.template import ROOT
from tests.support.waiting import PATIENCE_SECONDS

DIES = """
import os, sys
from pathlib import Path
from tests.support.shared import filled_once, shared
with shared(Path(sys.argv[1]), lambda _: 1 / 0) as found:
    print(found, flush=True)
    os._exit(9)
"""


class Emulator:
    """Counts how often it was started and ended."""

    def __init__(self) -> None:
        self.events: list[str] = []

    @contextmanager
    def __call__(self, folder: Path) -> Iterator[str]:
        self.events.append("started")
        yield f"http://127.0.0.1:{len(self.events)}"
        self.events.append("ended")


def test_shared_resources_start_once_for_concurrent_workers_and_are_available_until_the_last_one_leaves(
    tmp_path: Path,
) -> None:
    emulator, together = Emulator(), Barrier(5, timeout=PATIENCE_SECONDS)

    def work(_: int) -> str:
        with shared(tmp_path / "emulator", emulator) as endpoint:
            together.wait()
            assert emulator.events == ["started"]
            return endpoint

    with ThreadPoolExecutor(5) as workers:
        assert set(workers.map(work, range(5))) == {"http://127.0.0.1:1"}
    assert emulator.events == ["started", "ended"]


def test_shared_resources_end_after_their_last_user(tmp_path: Path) -> None:
    emulator, entered, first_leaves = Emulator(), Event(), Event()

    def another() -> list[str]:
        with shared(tmp_path / "emulator", emulator):
            entered.set()
            assert first_leaves.wait(PATIENCE_SECONDS)
            return list(emulator.events)

    with ThreadPoolExecutor(1) as workers:
        with shared(tmp_path / "emulator", emulator):
            seen = workers.submit(another)
            assert entered.wait(PATIENCE_SECONDS)
            first_leaves.set()
        assert emulator.events == ["started", "ended"]
        assert seen.result(PATIENCE_SECONDS) == ["started"]


def test_shared_resources_start_again_after_their_end(tmp_path: Path) -> None:
    emulator = Emulator()
    for _ in range(2):
        with shared(tmp_path / "emulator", emulator):
            pass
    assert emulator.events == ["started", "ended"] * 2


def test_shared_resources_failed_start_is_repeated_by_the_next_user(tmp_path: Path) -> None:
    @contextmanager
    def broken(folder: Path) -> Iterator[str]:
        raise RuntimeError(folder.name)
        yield ""

    emulator = Emulator()
    with pytest.raises(RuntimeError, match="emulator"), shared(tmp_path / "emulator", broken):
        pass
    with shared(tmp_path / "emulator", emulator) as endpoint:
        assert endpoint
    assert emulator.events == ["started", "ended"]


def test_shared_resources_do_not_wait_for_a_worker_that_died(tmp_path: Path) -> None:
    emulator = Emulator()
    with shared(tmp_path / "emulator", emulator) as endpoint:
        died = subprocess.run(
            [sys.executable, "-c", DIES, str(tmp_path / "emulator")],
            cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
        )  # fmt: skip
        assert (died.returncode, died.stdout.strip()) == (9, endpoint), died.stderr
    assert emulator.events == ["started", "ended"]


FILLS = """
import sys, time
from pathlib import Path
from tests.support.shared import filled_once
def fill(folder):
    with (folder / "parts").open("w") as out:
        for part in range(20):
            out.write(f"{part}\\n")
            out.flush()
            time.sleep(0.01)
print(len((filled_once(Path(sys.argv[1]), fill) / "parts").read_text().split()), flush=True)
"""


def test_shared_resources_folder_is_complete_for_all_concurrent_processes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FILLS, str(tmp_path / "folder")]
    asking = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate(timeout=PATIENCE_SECONDS)[0].strip() for process in asking] == ["20"] * 3


def test_shared_resources_folder_is_filled_by_the_next_process_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        filled_once(tmp_path / "folder", lambda _: 1 / 0)
    assert (filled_once(tmp_path / "folder", lambda folder: (folder / "part").touch()) / "part").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "folder.lock"]
