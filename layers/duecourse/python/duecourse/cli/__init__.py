"""The `duecourse` command."""

from __future__ import annotations

import importlib
import sys

EXTRA = frozenset({"click", "orjson", "rich", "yaml"})
"""The packages of the extra `cli`."""


def start() -> None:
    """Run the command. If the packages of the extra `cli` are missing, print its name and exit with 1."""
    try:
        main = importlib.import_module("duecourse.cli.main").main
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        sys.exit("duecourse: the command is not installed; install it with: pip install 'duecourse[cli]'")
    main()
