"""Turns a key into the core's input, and a plan into calls."""
