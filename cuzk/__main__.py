"""`python -m cuzk`, and the console script: nothing but the start of Python itself can be interrupted outside of `cli.main`."""

import gc
import os
import sys

_NEW_OBJECTS = 100_000  # imports make half a million that stay; looking through them again and again takes time


def main() -> None:
    """Run the command line."""
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    try:
        from cuzk import signals

        signals.install()
        from cuzk import cli
    except KeyboardInterrupt:
        _say_interrupted()
        sys.exit(130)
    try:
        cli.main()
    except SystemExit as leave:
        _end(leave.code)


def _end(code: object) -> None:
    """End the process without taking its modules apart, which takes time."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(code if isinstance(code, int) else 1)
    os._exit(code if isinstance(code, int) else 0)


def _say_interrupted() -> None:
    """End as `cli.main` ends when it is interrupted, without what has not been imported yet."""
    import signal

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    text = "interrupted; nothing was written"
    if "--json" in sys.argv:
        import json

        from cuzk import __version__
        from cuzk.errors import Interrupted

        print(json.dumps({"error": Interrupted(text).as_dict(), "version": __version__}), flush=True)
    else:
        print(f"cuzk: {text}", file=sys.stderr)


if __name__ == "__main__":
    main()
