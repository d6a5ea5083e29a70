"""Names and docstrings of the generated code."""

from __future__ import annotations

import re
from keyword import iskeyword
from textwrap import fill, indent


def snake(name: str) -> str:
    """Return the name in snake case: `list_jobs` for `listJobs`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def python_name(name: str) -> str:
    """Return a field's name as a Python identifier, such as `from_` or `if_match`."""
    plain = name.lower().replace("-", "_")
    return f"{plain}_" if iskeyword(plain) else plain


def docstring(text: str, depth: int = 4) -> str:
    """Return the text as a docstring, wrapped and indented."""
    wrapped = "\n\n".join(fill(part, 116 - depth) for part in text.strip().split("\n\n"))
    end = '\n"""' if "\n" in wrapped or len(wrapped) > 108 - depth else '"""'
    return indent(f'"""{wrapped}{end}', " " * depth)
