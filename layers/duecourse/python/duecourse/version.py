"""The version of this package. It is equal to the version in pyproject.toml (a test compares them)."""

VERSION = "1.0.0"
