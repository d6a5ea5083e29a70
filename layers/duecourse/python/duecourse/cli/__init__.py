"""The `duecourse` command, the Python client and the stack on one machine."""
