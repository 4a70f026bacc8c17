"""Measurements of parts and of the whole, each with its result checked by something that does not use the measured routine."""
