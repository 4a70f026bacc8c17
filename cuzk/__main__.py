"""`python -m cuzk`, and the console script: nothing but the first imports can be interrupted outside of `cli.main`."""

import gc
import os
import sys

from cuzk import signals

_NEW_OBJECTS = 100_000  # imports make half a million that stay; looking through them again and again takes a tenth of a second


def main() -> None:
    """Run the command line."""
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    try:
        signals.install()
        from cuzk import cli
    except KeyboardInterrupt:
        signals.finish()
        print("cuzk: interrupted; nothing was written", file=sys.stderr)
        sys.exit(130)
    try:
        cli.main()
    except SystemExit as leave:
        _end(leave.code)


def _end(code: object) -> None:
    """End the process without taking its modules apart, which takes another tenth of a second."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(code if isinstance(code, int) else 1)
    os._exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
