"""`python -m duecourse.http.openapi <file>`: write the document to the file, and the copy that is served."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from duecourse.http.openapi.document import as_text, assemble
from duecourse.http.openapi.served import FILE


def main(target: str) -> None:
    """Both copies say the same: one for people, one without a blank too many."""
    document = assemble()
    Path(target).write_text(as_text(document), encoding="utf-8")
    compact = json.dumps(document, separators=(",", ":"))
    Path(__file__).with_name(FILE).write_text(compact + "\n", encoding="utf-8")


main(*sys.argv[1:])
