"""The TypeScript client's table of operations. Its types come from openapi-typescript."""

from __future__ import annotations

import json

from scripts.client_code.document import Document


def typescript(document: Document) -> str:
    """Return the text of the module of operations: method, path and kind of response of each."""
    entries, callbacks = [], []
    for method, path, operation in document.operations():
        name, answer = operation["operationId"], document.answer(operation)
        entry = [method, path.removeprefix("/v1/"), bool(answer and answer.endswith("Page"))]
        entries.append(f"  {name}: {json.dumps(entry)},")
        if any("run" in way for way in operation.get("security", ())):
            callbacks.append(json.dumps(name))
    return (
        "/** Every operation of the API. Written by scripts/client_code from openapi.json (`make openapi`). */\n\n"
        "/** Method, path below `/v1/`, and whether the answer is a page of a list. */\n"
        "export type OperationEntry = readonly [method: string, path: string, page: boolean];\n\n"
        "/** The operations that a program reports with the callback token of its attempt. */\n"
        f"export type CallbackName = {' | '.join(callbacks)};\n\n"
        "export const OPERATIONS: Readonly<Record<string, OperationEntry>> = {\n" + "\n".join(entries) + "\n};\n"
    )
