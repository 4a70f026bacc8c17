"""`python -m cuzk`."""

from cuzk.cli import main

main()
