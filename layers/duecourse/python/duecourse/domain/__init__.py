"""Pure decisions without I/O, clock or randomness: all three are passed as arguments."""
