"""The groups G1 and G2 of BLS12-381, their encodings and the pairing."""
