"""`python -m duecourse.api.openapi <document> <page>`: write the document, the copy that is served, and the table of
routes in the page (docs/api.md).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from duecourse.api.openapi.document import as_text, assemble
from duecourse.api.openapi.reference import with_table
from duecourse.api.openapi.served import FILE


def main(target: str, page: str) -> None:
    """Both copies say the same: one for people, one without a blank too many."""
    document = assemble()
    Path(target).write_text(as_text(document), encoding="utf-8")
    compact = json.dumps(document, separators=(",", ":"))
    Path(__file__).with_name(FILE).write_text(compact + "\n", encoding="utf-8")
    Path(page).write_text(with_table(Path(page).read_text(encoding="utf-8")), encoding="utf-8")


main(*sys.argv[1:])
