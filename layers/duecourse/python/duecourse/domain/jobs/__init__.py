"""Job definitions, cursors, and changes to them."""
