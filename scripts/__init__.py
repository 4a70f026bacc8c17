"""Maintenance scripts: `python scripts/NAME.py`."""
