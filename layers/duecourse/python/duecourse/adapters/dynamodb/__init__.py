"""The tables: keys, items and conditional writes."""
