"""`python -m scripts.client_code`: write the Python client's models and methods from openapi.json.

Answers become frozen dataclasses, bodies TypedDicts, every operation one method of `Client` and one of `AsyncClient`,
which differ in nothing but `await`.
"""

from __future__ import annotations

from scripts.client_code.written import written

if __name__ == "__main__":
    for file, code in written().items():
        file.write_text(code, encoding="utf-8")
