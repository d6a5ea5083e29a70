"""A scene that any release's code can play and carry on: what tests/compat holds releases against each other by.

The code may be another release's (tests/support/release_code.py runs it in a process of its own), so these modules keep
to what the `World` of every recorded release has.
"""
