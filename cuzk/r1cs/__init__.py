"""Recorded constraint systems at work: witness programs, row values, columns, densities, digests."""
