"""`python -m cuzk`, and the console script: nothing but the first import can be interrupted outside of `cli.main`."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from cuzk import cli
    except KeyboardInterrupt:
        print("cuzk: interrupted; nothing was written", file=sys.stderr)
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
