"""Time zones: their data, their wall clocks, and the effects of daylight saving time."""
