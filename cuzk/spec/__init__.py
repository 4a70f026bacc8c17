"""Executable specification in plain Python integers. Imports nothing from the rest of the package."""
