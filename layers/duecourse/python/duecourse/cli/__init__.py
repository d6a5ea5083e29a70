"""The `duecourse` command."""

from __future__ import annotations

import importlib
import os
import sys
from errno import EDQUOT, EFBIG, EIO, ENOSPC, EPIPE
from typing import NoReturn

EXTRA = frozenset({"click", "orjson", "rich", "yaml"})
"""The packages of the extra `cli`."""

_FULL = frozenset({EDQUOT, EFBIG, EIO, ENOSPC})


def start() -> None:
    """Run the command. If the packages of the extra `cli` are missing, print its name and exit with 1. If the output
    or a file cannot be written or read, print the reason and exit with 1.
    """
    try:
        main = importlib.import_module("duecourse.cli.main").main
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        sys.exit("duecourse: the command is not installed; install it with: pip install 'duecourse[cli]'")
    try:
        main()
    except OSError as error:
        if error.filename is not None:
            sys.exit(f"duecourse: {error.filename}: {error.strerror or error}")
        if error.errno not in _FULL:
            raise
        _not_written(error)
    finally:  # also after SystemExit; the end of the process would flush with a traceback
        _flush()


def _flush() -> None:
    """Write the rest of the output. If this is not possible, exit with the reason."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        _not_written(error)


def _not_written(error: OSError) -> NoReturn:
    """Exit with 1 and the reason, or silently if the reader of a pipe has ended."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the end of the process
    why = f"duecourse: the output cannot be written: {error.strerror or error}; free space, or write it elsewhere"
    sys.exit(1 if error.errno == EPIPE else why)
