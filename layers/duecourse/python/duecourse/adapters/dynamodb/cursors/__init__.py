"""The due index: cursors, claims, timers, watermarks."""
