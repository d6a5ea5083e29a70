"""`python -m tests.prove`: play histories until the time is over or a promise is broken; see `make prove`."""

from __future__ import annotations

import os
import sys

if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is part of a history
    os.execve(
        sys.executable, [sys.executable, "-m", "tests.prove", *sys.argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"}
    )

from tests.prove.machine import install

install()

from tests.prove.run import main  # noqa: E402

sys.exit(main())
