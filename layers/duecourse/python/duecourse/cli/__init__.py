"""The `duecourse` command."""

from __future__ import annotations

import importlib
import os
import sys
from errno import EDQUOT, EFBIG, EIO, ENOSPC, EPIPE
from pathlib import Path
from typing import NoReturn

EXTRA = frozenset({"click", "orjson", "rich", "yaml"})
"""The packages of the extra `cli`."""

INTERRUPTED = 130
"""The exit code after Ctrl-C, as in shells."""

_FULL = frozenset({EDQUOT, EFBIG, EIO, ENOSPC})


def start() -> None:
    """Run the command. If the packages of the extra `cli` are missing, print its name and exit with 1. If the output
    or a file cannot be written or read, print the reason and exit with 1.
    """
    _open_closed_streams()
    try:
        importlib.import_module("duecourse.cli.main").main(prog_name="duecourse")
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        sys.exit("duecourse: the command is not installed; install it with: pip install 'duecourse[cli]'")
    except KeyboardInterrupt:  # while it is imported
        sys.stderr.write("duecourse: interrupted\n")
        sys.exit(INTERRUPTED)
    except OSError as error:
        if error.filename is not None:
            sys.exit(f"duecourse: {error.filename}: {error.strerror or error}")
        if error.errno not in _FULL:
            raise
        _not_written(error)
    finally:  # also after SystemExit; the end of the process would flush with a traceback
        _flush()


def _open_closed_streams() -> None:
    """Make a closed standard input empty, and discard what is written to a closed output."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - open until the end


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
