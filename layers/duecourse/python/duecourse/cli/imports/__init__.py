"""Jobs from other schedulers' files: what becomes of each entry, and what cannot be carried over. No I/O here."""
