"""Sums of many points: rows, batch-affine trees, Pippenger, fixed bases."""
