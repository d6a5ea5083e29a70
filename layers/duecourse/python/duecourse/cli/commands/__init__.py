"""One module per command; nothing here is imported before its command is called."""
