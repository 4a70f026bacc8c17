"""Compiled loops over arrays. No allocation policy, no I/O, no decisions: those belong to the callers."""
