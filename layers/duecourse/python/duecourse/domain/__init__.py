"""Pure decisions: no I/O, no clock, no randomness; all three come in as arguments."""
