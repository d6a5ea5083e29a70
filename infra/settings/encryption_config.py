"""Whose key a stage's stores lie under: a validated part of `StageConfig`."""

import re

OWN = "own"

_KEY_ARN = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]{1,64}")


def key_problem(key: str | None) -> str | None:
    """What is wrong with a stage's choice of key; None where nothing is."""
    if key is None or key == OWN or _KEY_ARN.fullmatch(key):
        return None
    return f"must be None, {OWN} or the ARN of a KMS key (arn:aws:kms:...:key/..., no alias), not {key!r}"
