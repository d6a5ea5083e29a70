"""The emulator's process and its environment."""
