"""Time zones: their files, their clocks, what daylight saving does."""
