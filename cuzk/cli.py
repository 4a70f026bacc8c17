"""The command line: parse, call, print. Results go to stdout, everything else to stderr; heavy imports happen inside commands."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cuzk import __version__, signals
from cuzk.config import check_environment
from cuzk.errors import EXIT_CODES, CuzkError, InternalError, Interrupted, ResourceError, UsageError

START = time.perf_counter()
NO_ROOM = ("cannot allocate memory", "failed to map segment")  # what a loader says where address space is short

EPILOG = "\b\nExit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items())
SUPPORTED = """\b
Supported: StackedDRG PoRep (V1, V1_1, synthetic, non-interactive) at
2KiB 4KiB 16KiB 32KiB 8MiB 16MiB 512MiB 1GiB 32GiB 64GiB."""


class Size(click.ParamType):
    """A sector size: a name in any case, or a number of bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """To bytes."""
        from cuzk.circuits.params import parse_size

        try:
            return value if isinstance(value, int) else parse_size(value)
        except UsageError as error:
            error.where = param.opts[0] if isinstance(param, click.Option) else "SIZE"
            raise


SIZE = Size()


class RegularFile(click.Path):
    """An existing regular file: pipes and devices can be read once only, or never end."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """To a path."""
        path: Any = super().convert(value, param, ctx)
        if not path.is_file():
            self.fail(f"{value!r} is a pipe or a device: give a regular file", param, ctx)
        return path


FILE = RegularFile()


class OutputPath(click.Path):
    """Where something is to be written. An empty path would mean the directory that the command runs in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """To a path."""
        if value == "":
            self.fail("empty path", param, ctx)
        return super().convert(value, param, ctx)


OUTPUT = OutputPath(dir_okay=False, path_type=Path)
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, for errors too.")
id_options = [
    click.option("--miner", type=click.IntRange(min=0), help="Miner id, to check the replica id."),
    click.option("--sector", type=click.IntRange(min=0), help="Sector number, to check the replica id."),
    click.option("--registered-proof", metavar="NAME|0-19", help="For form B, which does not carry it."),
    click.option("--porep-id", metavar="HEX", help="For sizes without a registered proof, with --api-version."),
    click.option("--api-version", metavar="V", help="1.0.0, 1.1.0 or 1.2.0."),
    click.option("--feature", type=click.Choice(["synthetic", "non-interactive"]), help="Of a C1 named by --porep-id."),
]
timing_options = [
    click.option("--timings", type=OUTPUT, help="Write the phase tree as JSON."),
    click.option("--trace", type=OUTPUT, help="Write trace events for a browser's trace viewer."),
]


def with_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Apply several option decorators in reading order."""

    def apply(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return apply


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="cuzk", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show a traceback with an error.")
def cli(debug: bool) -> None:
    """A Groth16 prover for Filecoin: from the output of commit phase 1 to the proof that the chain accepts.

    Example: cuzk prove c1.json -o proof.bin --miner 1000 --sector 7
    """


@cli.command(epilog=SUPPORTED)
@click.argument("input_file", metavar="C1|CIRCUIT.json", type=FILE)
@click.option(
    "-o", "--output", "proof_file", metavar="PROOF", type=OUTPUT, required=True, help="Where the proof goes, when it is whole."
)
@click.option("--params", metavar="auto|dev|DIR", default="auto", show_default=True, help="Which parameters to use.")
@click.option("--verify-params", type=click.Choice(["cached", "full"]), default="cached", show_default=True)
@click.option(
    "--device",
    metavar="auto|cpu|cuda[:ids]",
    default="auto",
    show_default=True,
    help="cuda: all cards; cuda:0,1: those; auto: cards that work, else the CPU.",
)
@with_options(*id_options)
@click.option("--partition", type=click.IntRange(min=0), help="Prove this partition alone (192 bytes).")
@click.option("--unsafe-randomness", type=FILE, help="r and s from a file: tests only, it voids the hiding of the witness.")
@click.option("--memory-budget", metavar="BYTES", help="Refuse to use more (K, M, G suffixes).")
@click.option("--device-memory", metavar="BYTES", help="Memory of each card to use; points beyond it are streamed from the host.")
@click.option("--opt", "opts", metavar="NAME=VALUE", multiple=True, help="Switch a named variant.")
@with_options(*timing_options, json_option)
def prove(**options: Any) -> None:
    """Read a C1, check it, synthesize, prove, verify, and write the proof.

    Example: cuzk prove c1.json -o proof.bin
    """
    from cuzk.commands import prove as command

    result = command.prove(command.Options(ids=_take_ids(options), **options), START)
    emit(result, options["as_json"], command.prove_text)


@cli.command()
@click.argument("proof_file", metavar="[PROOF]", type=FILE, required=False)
@click.option("--c1", "c1_file", type=FILE, help="The C1 that the proof is for.")
@click.option("--vk", "vk_file", type=FILE, help="Verifying key file.")
@click.option("--inputs", "inputs_file", type=FILE, help="Public inputs as JSON.")
@click.option("--params", metavar="auto|dev|DIR", default="auto", show_default=True)
@with_options(*id_options)
@click.option("--partition", type=click.IntRange(min=0), help="The proof is of this partition alone.")
@json_option
def verify(**options: Any) -> None:
    """Say whether a proof is true: exit code 0, or 1 for a well-formed proof that is false.

    Of a C1 only the public inputs are taken (replica_id, comm_d, comm_r and the challenges that follow from its seed): its
    labels and Merkle paths are not checked (cuzk prove checks them).

    Example: cuzk verify proof.bin --c1 c1.json
    """
    from cuzk.commands import verify as command

    result = command.verify_command(command.Options(ids=_take_ids(options), **options))
    emit(result, options["as_json"], command.verify_text)
    if not result["valid"]:
        raise SystemExit(1)


@cli.command()
@click.argument("target", metavar="SIZE|CIRCUIT.json")
@click.option("-o", "--output", "directory", metavar="DIR", type=OutputPath(file_okay=False, path_type=Path), required=True)
@click.option("--toxic-waste", type=FILE, help="JSON with alpha, beta, gamma, delta, tau.")
@click.option("--random", "fresh", is_flag=True, help="Fresh waste, discarded.")
@click.option(
    "--device",
    metavar="auto|cpu|cuda[:ids]",
    default="auto",
    show_default=True,
    help="cuda: the first card; cuda:1: that one; auto: a card that works, else the CPU.",
)
@json_option
def setup(**options: Any) -> None:
    """Make parameters of our own, for tests: no chain accepts them. Their bytes are the same whatever device makes them.

    Example: cuzk setup 2KiB -o params/
    """
    from cuzk.commands import setup as command

    result = command.run(**options)
    emit(result, options["as_json"], command.text)


@cli.command()
@click.argument("size", type=SIZE)
@click.option("--digest", is_flag=True, help="Stream the whole expansion through the constraint system digest.")
@json_option
def shape(size: int, digest: bool, as_json: bool) -> None:
    """Say what the circuit of a sector size is: rows, variables, densities, digest.

    Example: cuzk shape 32GiB --digest --json
    """
    from cuzk.commands import shape as command

    emit(command.run(size, digest), as_json, command.text)


@cli.command("synth-only")
@click.argument("c1_file", metavar="[C1]", type=FILE, required=False)
@click.option("--size", type=SIZE, help="Make up a C1 of this size in memory, instead of reading one.")
@click.option("--partition", metavar="K[,K…]|all", default="0", show_default=True)
@click.option("--iterations", type=click.IntRange(min=1), help="Timed runs.  [default: 5; 20 with --variant]")
@click.option("--warmup", type=click.IntRange(min=0), default=1, show_default=True, help="Runs before those, not timed.")
@click.option("--jobs", type=click.IntRange(min=1), help="Partitions at a time.  [default: what memory and CPUs allow]")
@click.option("--variant", metavar="SETTING,…", help="Settings to compare: base,lc-layout=csr,presize=off+stream-witness=on")
@click.option("--opt", "opts", metavar="NAME=VALUE", multiple=True, help="Switch a named variant everywhere.")
@click.option("--counters", is_flag=True, help="Count instructions, cycles, misses and faults of the timed runs.")
@click.option("--check", is_flag=True, help="Test A·z ∘ B·z = C·z on every row.")
@click.option("--digest", is_flag=True, help="Digests of the witness and of A·z, B·z, C·z.")
@click.option("--memory-budget", metavar="BYTES", help="Refuse to use more (K, M, G suffixes).")
@with_options(*timing_options, json_option)
def synth_only(**options: Any) -> None:
    """Run circuit synthesis alone: C1 to witness and A·z, B·z, C·z. Without a C1, the packaged 2 KiB example.

    Example: cuzk synth-only --size 8MiB --variant base,stream-witness=on --check
    """
    from cuzk.commands import synth_only as command
    from cuzk.commands.synthesis_text import text

    result = command.run(command.Options(**options), START)
    emit(result, options["as_json"], text)


@cli.command()
@click.argument("subject", metavar="[field|ntt|msm|synth|prove|setup]", required=False)
@click.option("--size", metavar="SIZE,…", help="Elements for ntt and msm, as 2^20 or as 20; sectors for synth, prove, setup.")
@click.option("--runs", type=click.IntRange(min=1), help="Timed runs of each task, at least.  [default: 5; 10 with --variant]")
@click.option("--threads", type=click.IntRange(min=1), help="CPUs to use.  [default: one, and all]")
@click.option("--device", metavar="auto|cpu|cuda[:ids]", default="auto", show_default=True)
@click.option("--peers", is_flag=True, help="Time arkworks on one thread beside our sums of points (msm); needs the bench extra.")
@click.option("--opt", "opts", metavar="NAME=VALUE", multiple=True, help="Switch a named variant: of synth and prove.")
@click.option("--variant", metavar="SETTING,…", help="Compare settings of prove: base,parallel-b-g2=on,msm-window=one")
@json_option
def bench(**options: Any) -> None:
    """Measure one subject, or all: medians, spread, a checked result for every row, and the machine.

    The subject prove runs whole warm processes on every arithmetic path of this machine (CUZK_CPU chooses one); setup too, which
    takes minutes. --device cuda measures on a card, with clocks and what each kernel takes; auto is the CPU here.

    Short tasks of field, ntt and msm have further rounds until they have run for 8 seconds, at most five times --runs in all: n
    says how many. Of synth, prove and setup, and on a card, --runs is the number, and four times that to check a proof.

    A number up to 31 as --size of ntt (6 to 31) and msm (0 to 31) is an exponent, 20 for 2^20; a larger one is 2^k itself.

    Example: cuzk bench msm --size 2^16,2^18 --peers --json
    """
    from cuzk.commands import bench as command

    if options["subject"] not in (None, *command.SUBJECTS):
        raise UsageError("no such subject", expected=", ".join(command.SUBJECTS), got=options["subject"][:40])
    emit(command.run(command.Options(**options)), options["as_json"], command.text)


@cli.command()
@click.argument("size", type=SIZE, required=False)
@json_option
def explain(size: int | None, as_json: bool) -> None:
    """Say where the rows of a circuit are: by gadget, part, layer and tree, with variables, non-zeros and shares.

    Example: cuzk explain 32GiB
    """
    from cuzk.commands import explain as command

    emit(command.run(size), as_json, command.text)


@cli.command()
@json_option
def variants(as_json: bool) -> None:
    """List the switches of --opt: what each does, its default, what it touches, and the measurement behind it."""
    from cuzk.commands import variants as command

    emit(command.run(), as_json, command.text)


@cli.command()
@click.argument("files", metavar="FILE.json…", type=FILE, nargs=-1, required=True)
@click.option("-o", "--output", metavar="out.html", type=OUTPUT, required=True, help="Where the page goes.")
@json_option
def report(files: tuple[Path, ...], output: Path, as_json: bool) -> None:
    """Make one self-contained page from files of --timings: a timeline, and the phases side by side.

    Example: cuzk report before.json after.json -o out.html
    """
    from cuzk.commands import report as command

    emit(command.run(files, output), as_json, command.text)


@cli.command()
@click.argument("file", type=FILE)
@json_option
def inspect(file: Path, as_json: bool) -> None:
    """Say what a file is (C1 in any form, params, vk, proof, circuit, shape cache) and its facts.

    Example: cuzk inspect c1.json
    """
    from cuzk.commands import inspect as command

    emit(command.inspect(file), as_json, command.text)


@cli.command()
@json_option
def config(as_json: bool) -> None:
    """Print each setting that is in force, and where it comes from."""
    from cuzk import config as settings

    emit(settings.effective(), as_json, lambda d: "\n".join(f"{k:<30} {v['value']}  ({v['origin']})" for k, v in d.items()))


@cli.command()
@click.argument("size", type=SIZE)
@click.option("-o", "--output", metavar="C1", type=OUTPUT, required=True, help="Where the C1 goes.")
@click.option(
    "--form",
    metavar="W|J|B",
    type=click.Choice(["W", "J", "B"], case_sensitive=False),
    help="Wrapper, raw JSON or bincode.  [default: W, and B for sizes without a registered proof]",
)
@click.option("--miner", type=int, default=1000, show_default=True, help="Miner id of the made-up sector.")
@click.option("--sector", "sector_number", type=int, default=1, show_default=True, help="Its sector number.")
@click.option("--seed", type=int, default=0, show_default=True, help="Gives ticket, challenge seed and filler.")
@click.option("--expected", metavar="FILE", type=OUTPUT, help="Write what a verifier must know, public inputs included, as JSON.")
@json_option
def fixture(as_json: bool, **options: Any) -> None:
    """Make up a C1 that holds, of any size, without a sector: API 1.1.0, interactive, zero data.

    Labels and tree nodes on the opened paths are computed, all others are filler. The ids are the fixture's own.

    Example: cuzk fixture 32GiB -o c1-32gib.json
    """
    from cuzk.commands import fixture as command

    emit(command.run(**options), as_json, command.text)


def _take_ids(options: dict[str, Any]) -> Any:
    """Move the id options out of `options`."""
    from cuzk.commands.choices import Ids

    names = ("miner", "sector", "registered_proof", "porep_id", "api_version", "feature")
    return Ids(**{name: options.pop(name) for name in names})


def emit(result: dict[str, Any], as_json: bool, text: Callable[[dict[str, Any]], str]) -> None:
    """Print a result as one JSON object or as text."""
    say(json.dumps(result, default=str) if as_json else text(result))


def say(text: str) -> None:
    """Write to stdout. A reader that has gone is its own affair; a full disk is an error.

    Raises  ResourceError
    """
    try:
        print(text, flush=True)
    except OSError as error:
        # Whatever is still buffered must not fail again when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise ResourceError("the result cannot be printed", where="stdout", got=error.strerror) from error


def _show_warning(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: str | None = None) -> None:
    """Warnings as one line of ours."""
    print(f"cuzk: warning: {message}", file=sys.stderr)


def _fail(error: CuzkError, as_json: bool) -> int:
    """Print an error where it belongs and return its exit code."""
    if as_json:
        with contextlib.suppress(ResourceError):
            say(json.dumps({"error": error.as_dict(), "version": __version__}))
    else:
        click.echo(f"cuzk: {error}", err=True)
    return error.code


def _short_of_memory(error: BaseException) -> BaseException | None:
    """The error, or the one that it came of, if it says that memory is short: libraries that find no room say so in words."""
    its: BaseException | None = error if isinstance(error, MemoryError | OSError | ImportError) else None
    while its is not None:
        words = str(its).lower()
        if isinstance(its, MemoryError) or getattr(its, "errno", None) == errno.ENOMEM:
            return its
        if isinstance(its, OSError | ImportError) and any(text in words for text in NO_ROOM):
            return its
        its = its.__cause__ or its.__context__
    return None


def _as_cuzk_error(error: BaseException) -> CuzkError:
    """Every exception as one of ours."""
    if isinstance(error, CuzkError):
        return error
    if isinstance(error, click.ClickException):
        return UsageError(error.format_message(), hint="see --help")
    phase = error.__dict__.get("phase")
    if (short := _short_of_memory(error)) is not None:
        said = str(short).removeprefix(f"[Errno {errno.ENOMEM}] ")
        return ResourceError("out of memory", got=said or None, phase=phase, hint="free memory, or raise its limit (ulimit -v)")
    if isinstance(error, OSError):
        return ResourceError(error.strerror or str(error) or "input/output error", file=error.filename, phase=phase)
    return InternalError(f"{type(error).__name__}: {error}", hint="run again with `cuzk --debug …` and report it")


def main(arguments: list[str] | None = None) -> None:
    """Entry point: run, and turn every failure into one message and its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    as_json, debug = "--json" in arguments, "--debug" in arguments
    warnings.showwarning = _show_warning
    signals.install()
    try:
        check_environment()
        code = cli.main(arguments, prog_name="cuzk", standalone_mode=False) or 0
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else 1
    except KeyboardInterrupt:
        code = _interrupted(as_json)
    except click.Abort as abort:
        # click takes every end of a file for the end of its terminal.
        code = _failed(abort.__cause__, as_json, debug) if isinstance(abort.__cause__, EOFError) else _interrupted(as_json)
    except Exception as error:
        code = _failed(error, as_json, debug)
    sys.exit(code if isinstance(code, int) else 0)


def _interrupted(as_json: bool) -> int:
    signals.finish()
    phase, partition = signals.stopped_in()
    return _fail(Interrupted("interrupted; nothing was written", phase=phase, partition=partition), as_json)


def _failed(error: Exception, as_json: bool, debug: bool) -> int:
    """Any other exception as its message and exit code."""
    if debug:
        traceback.print_exception(error)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return error.exit_code
    if isinstance(error, click.UsageError) and error.ctx is not None and not as_json:
        click.echo(error.ctx.get_usage(), err=True)
    return _fail(_as_cuzk_error(error), as_json)
