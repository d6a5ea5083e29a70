"""The emulator's process and its surroundings."""
