"""Circuits as recorded shapes, and the gadgets that record them."""
