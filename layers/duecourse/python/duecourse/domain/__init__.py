"""Pure decisions: no I/O, clock or randomness. Data, times and random values are arguments."""
