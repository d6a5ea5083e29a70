"""`python -m scripts.openapi <page>`: write the table of routes in the page (docs/api.md)."""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.openapi.document import with_table


def main(page: str) -> None:
    """Write the table. `page` is a path."""
    Path(page).write_text(with_table(Path(page).read_text(encoding="utf-8")), encoding="utf-8")


main(*sys.argv[1:])
