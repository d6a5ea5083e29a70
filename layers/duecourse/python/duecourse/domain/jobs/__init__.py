"""Job definitions, cursors, and the changes of both."""
