"""`python -m duecourse.api.openapi <page>`: write the document and the table of routes in the page (docs/api.md)."""

from __future__ import annotations

import sys
from pathlib import Path

from duecourse.api.openapi.document import as_text, assemble, with_table
from duecourse.api.openapi.served import FILE


def main(page: str) -> None:
    """Write both files. `page` is a path."""
    FILE.write_text(as_text(assemble()), encoding="utf-8")
    Path(page).write_text(with_table(Path(page).read_text(encoding="utf-8")), encoding="utf-8")


main(*sys.argv[1:])
