"""What takes long to start, started once for all workers of a test session."""

import fcntl
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import IO


def filled_once(folder: Path, fill: Callable[[Path], object]) -> Path:
    """`folder`, with all that `fill` writes: the first process fills it, later ones find it, others wait meanwhile.

    `fill` gets a new folder beside it, which is renamed when it is complete. A process that dies leaves no partial
    folder under the final name.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            partial = Path(mkdtemp(dir=folder.parent))
            try:
                fill(partial)
                partial.rename(folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return folder


@contextmanager
def shared(folder: Path, start: Callable[[Path], AbstractContextManager[str]]) -> Iterator[str]:
    """What `start` yields: the first process that asks starts it in `folder` and ends it after the last has left.

    Who else uses it holds a shared lock on a file, which the kernel takes from a process that dies.
    """
    folder.mkdir(exist_ok=True)
    yielded = folder / "yielded"
    with (folder / "users").open("w") as users:
        if not _alone(users, yielded):
            yield yielded.read_text()
            return
        with start(folder) as found:
            yielded.write_text(found)
            fcntl.flock(users, fcntl.LOCK_UN)
            try:
                yield found
            finally:
                fcntl.flock(users, fcntl.LOCK_EX)  # once all others have left
                yielded.unlink()


def _alone(users: IO[str], yielded: Path) -> bool:
    """True, with all others kept out, where it must be started; False, with a part in it, where it runs."""
    while True:
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            if not yielded.exists():
                return True
        fcntl.flock(users, fcntl.LOCK_SH)  # waits while somebody starts or ends it
        if yielded.exists():
            return False
