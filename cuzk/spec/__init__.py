"""Executable specification in plain Python integers. Imports nothing from the rest of the package.

Read in this order: `field` and `tower` (numbers), `curve`, `pairing`, `encoding` (points), `ntt` (polynomials),
`r1cs` (statements), `engine` (the real groups and a toy), `groth16` (setup, prove, verify), `waste` (a proof from
toxic waste), `keys` (files), and `sha256`, `poseidon` (hashes). docs/01-toy-groth16.md walks through one proof with
small numbers.
"""
