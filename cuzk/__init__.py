"""cuzk: a Groth16 prover for Filecoin in pure Python. Importing this package loads nothing heavy."""

__version__ = "0.1.0"
