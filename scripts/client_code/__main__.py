"""`python -m scripts.client_code`: write the Python client's models and methods from openapi.json.

Responses become frozen dataclasses, and bodies become TypedDicts. Each operation becomes one method of `Client` and one
of `AsyncClient`, which differ only in `await`.
"""

from __future__ import annotations

from scripts.client_code.written import written

if __name__ == "__main__":
    for file, code in written().items():
        file.write_text(code, encoding="utf-8")
