"""The Groth16 proof system: setup, quotient, prove, verify."""
