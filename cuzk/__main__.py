"""`python -m cuzk`, and the console script: nothing but the first imports can be interrupted outside of `cli.main`."""

import sys

from cuzk import signals


def main() -> None:
    """Run the command line."""
    try:
        signals.install()
        from cuzk import cli
    except KeyboardInterrupt:
        signals.finish()
        print("cuzk: interrupted; nothing was written", file=sys.stderr)
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
