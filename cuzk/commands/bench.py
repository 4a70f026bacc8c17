"""`cuzk bench`: medians and spread of parts and of the whole, with checked results, a peer in the same run, and the machine."""

from __future__ import annotations

import importlib
import os
import shlex
import time
from dataclasses import dataclass
from typing import Any

from cuzk import __version__, statistics, variants
from cuzk.bench import arkworks, machine, measure
from cuzk.bench.measure import Request
from cuzk.circuits.params import parse_size
from cuzk.commands.choices import choose_cards, device_names
from cuzk.commands.synthesis_text import phase_table
from cuzk.device import parse
from cuzk.errors import ResourceError, UsageError
from cuzk.noise import Watch
from cuzk.progress import Progress
from cuzk.variants import DEFAULTS

SUBJECTS = ("field", "ntt", "msm", "synth", "prove", "setup")
OF_ELEMENTS, OF_SECTORS = ("ntt", "msm"), ("synth", "prove", "setup")
WITH_SWITCHES, WITH_PEER = ("synth", "prove"), ("msm",)
SMALLEST = {"ntt": 6, "msm": 0}


@dataclass(frozen=True, slots=True)
class Options:
    """What `cuzk bench` was asked for."""

    subject: str | None = None
    size: str | None = None
    runs: int | None = None
    threads: int | None = None
    device: str = "auto"
    peers: bool = False
    opts: tuple[str, ...] = ()
    variant: str | None = None
    as_json: bool = False


def sizes(subject: str | None, text: str | None) -> tuple[int, ...]:
    """Logarithms of numbers of elements, or sector sizes, as the subject takes them. Raises UsageError."""
    if text is None:
        return ()
    if subject in OF_ELEMENTS:
        return measure.parse_powers(text, SMALLEST[subject])
    if subject in OF_SECTORS:
        return tuple(dict.fromkeys(parse_size(word) for word in text.split(",")))
    raise _not_of(subject, "--size", text, OF_ELEMENTS + OF_SECTORS, "sizes")


def _not_of(subject: str | None, flag: str, given: str, subjects: tuple[str, ...], what: str) -> UsageError:
    """An option that the subject does not have, or that needs one."""
    expected = f"one of {', '.join(subjects)}"
    if subject is None:
        return UsageError(f"{flag} needs a subject", where=flag, expected=expected, got=given[:60])
    return UsageError(f"this subject has no {what}", where=flag, expected=expected, got=subject)


def _check_switches(options: Options) -> None:
    """Raises  UsageError for switches where nothing has them, and as `variants.parse_variants`"""
    if options.opts and options.subject not in WITH_SWITCHES:
        raise _not_of(options.subject, "--opt", options.opts[0], WITH_SWITCHES, "switches")
    if options.variant is not None and options.subject != "prove":
        hint = "cuzk synth-only --variant compares settings of synthesis"
        got = options.subject or "no subject"
        raise UsageError(
            "settings are compared in whole proofs", where="--variant", expected="cuzk bench prove", got=got, hint=hint
        )
    base = variants.apply(DEFAULTS, options.opts, variants.SYNTHESIS if options.subject == "synth" else variants.PROOF)
    if options.variant is not None:
        variants.parse_variants(options.variant, base, variants.PROOF)


def _check_cards(options: Options) -> None:
    """Raises  UsageError for options about the CPU"""
    switches = options.opts if options.subject == "synth" else ()
    flags = {"--peers": options.peers, "--threads": options.threads, "--variant": options.variant, "--opt": switches}
    for flag, given in flags.items():
        if given:
            raise UsageError("this is about the CPU", where=flag, got=f"--device {options.device}", hint=f"leave {flag} out")


def _check_peers(options: Options) -> None:
    """Raises  UsageError where no row would have the peer beside it"""
    if options.subject not in (None, *WITH_PEER):
        expected = f"cuzk bench {' or '.join(WITH_PEER)}"
        raise UsageError("this subject has no peer", where="--peers", expected=expected, got=options.subject, hint="leave it out")
    if options.threads not in (None, 1):
        hint = "leave --threads out, or give --threads 1"
        raise UsageError("the peer runs on one thread", where="--threads", expected="1", got=options.threads, hint=hint)


def command(options: Options) -> str:
    """The line that asks for this again, with the arithmetic path if the environment chooses it."""
    words = ["cuzk", "bench", *filter(None, [options.subject])]
    for flag, value in (("--size", options.size), ("--runs", options.runs), ("--threads", options.threads)):
        words += [] if value is None else [flag, str(value)]
    words += ["--device", options.device] if options.device != "auto" else []
    words += ["--peers"] * options.peers
    words += [word for opt in options.opts for word in ("--opt", opt)]
    words += [] if options.variant is None else ["--variant", options.variant]
    path = os.environ.get("CUZK_CPU", "").strip()
    return f"CUZK_CPU={path} " * bool(path) + shlex.join([*words, *["--json"] * options.as_json])


def run(options: Options) -> dict[str, Any]:
    """Measure one subject, or all. `auto` is the CPU here.

    Raises  UsageError; DeviceError; InternalError if a result is wrong
    """
    began = time.perf_counter()
    on_cards = parse(options.device).kind == "cuda"
    _check_switches(options)
    chosen = sizes(options.subject, options.size)
    progress = Progress()
    progress.announce_compilation()
    cards = []
    if on_cards:
        _check_cards(options)
        cards = choose_cards(options.device, progress)
    elif options.threads is not None:
        measure.require_cpus(options.threads)
    if options.peers:
        _check_peers(options)
        arkworks.module()
    request = Request(
        options.runs or (measure.RUNS if options.variant is None else measure.ROUNDS),
        chosen,
        () if options.threads is None else (options.threads,),
        options.peers,
        options.opts,
        options.variant,
        device_names(cards),
        tuple(cards),
        progress,
    )
    subjects = (options.subject,) if options.subject else SUBJECTS
    found = machine.describe((arkworks.PACKAGE,) if options.peers else ())
    rows, noise, facts = _measured(subjects, request)
    return {
        "command": command(options),
        "subjects": list(subjects),
        "rows": rows,
        "machine": found,
        "load_after": machine.load(),
        "noise": noise,
        "device": request.device,
        **facts,
        "seconds": round(time.perf_counter() - began, 3),
        "version": __version__,
    }


def _measured(subjects: tuple[str, ...], request: Request) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
    """Rows and noise of all subjects; for cards also what the card is, its clocks before and after, and what kernels take."""
    rows, noise, facts = [], {}, {}
    modules = [importlib.import_module(f"cuzk.bench.{'cuda_' * bool(request.cards)}{subject}") for subject in subjects]
    if request.cards:
        from cuzk import device
        from cuzk.bench import cuda_measure

        card = request.cards[0]
        names = sorted({name for module in modules for name in module.KERNELS})
        facts = {"cards": device.facts(), "kernels": cuda_measure.kernels(card, names)}
        facts["clocks"] = {"before": cuda_measure.clocks(card)}
    for subject, module in zip(subjects, modules, strict=True):
        watch = Watch(with_children=True)
        try:
            rows += [{"subject": subject, **row} for row in module.run(request)]
        except MemoryError as error:
            hint = "free memory, or raise its limit (ulimit -v)" if subject == "field" else measure.SMALLER
            raise ResourceError("out of memory", where=f"cuzk bench {subject}", got=str(error) or None, hint=hint) from error
        noise[subject] = watch.report()
        if request.cards:
            facts["clocks"][f"after {subject}"] = cuda_measure.clocks(card)
    return rows, noise, facts


def _time(seconds: float) -> str:
    """With a unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1 or unit == "µs":
            return f"{seconds * scale:.3f} {unit}"
    raise AssertionError


def line(row: dict[str, Any]) -> str:
    """A row for people."""
    s = row["seconds"]
    head = f"{row['name']}, {row['path']}" + (f", {row['threads']} thread(s)" if "threads" in row else "")
    range_of = f"{_time(s['min'])} to {_time(s['max'])}, spread {_time(s['spread'])}, n = {s['n']}"
    text = f"{head}: {_time(s['median'])} ({range_of if s['n'] > 1 else 'one run'})"
    text += f"; CPU time {_time(row['cpu_seconds']['median'])}" if "cpu_seconds" in row else ""
    text += "; unsteady" if row.get("unsteady") else ""
    if row.get("noise") and row["noise"]["others"] is not None:
        text += f"; others took {row['noise']['others']:.2f} and the host {row['noise']['stolen']:.2f} CPUs meanwhile"
    for key, words in WORDS.items():
        if key in row:
            text += f"; {words.format(row[key] / (1 << 30) if key == 'peak_memory' else row[key])}"
    if "peer" in row:
        text += f"; {row['peer']['ratio']:.2f} times as fast as {row['peer']['name']} {row['peer']['version']}"
    return text


def _card_lines(result: dict[str, Any]) -> list[str]:
    """Kernels, card, driver and clocks for people."""
    if "kernels" not in result:
        return []
    lines = ["kernel: registers, bytes of local memory, of spill stores and loads, threads a block"]
    for name, facts in result["kernels"].items():
        values = [facts.get(key, 0) for key in ("registers", "local", "spill_stores", "spill_loads", "threads")]
        lines.append(f"  {name}: {', '.join(map(str, values))}")
    for card in result["cards"]["cards"]:
        lines.append(f"{card['device']}: {card['name']}, {card['multiprocessors']} multiprocessors, {result['cards']['driver']}")
    for when, clocks in result["clocks"].items():
        lines += [f"clocks {when}: " + ", ".join(f"{name} {value}" for name, value in clocks.items())] if clocks else []
    return lines


WORDS = {
    "ns_per_lane": "{:.2f} ns a lane",
    "ns_per_butterfly": "{:.2f} ns a butterfly",
    "against_floor": "{:.2f} of a product with the traffic of both elements",
    "against_product_alone": "{:.2f} of the product alone",
    "ns_per_point_and_window": "{:.1f} ns a point and window",
    "window_bits": "windows of {} bits",
    "rows_per_second": "{:,} rows/s",
    "speed_up": "{:.2f} times one thread",
    "products_speed_up": "products alone {:.2f} times",
    "peak_memory": "peak memory {:.2f} GiB",
    "per_ns": "{:.2f} a nanosecond",
    "of_random": "{:.2f} of random scalars",
}


def text(result: dict[str, Any]) -> str:
    """The result for people."""
    m, lines = result["machine"], []
    for row in result["rows"]:
        lines.append(line(row))
        lines += [f"  settings: {row['changed']}"] if "changed" in row else []
        lines += [f"  {row[key]}" for key in ("equal_words", "words", "cpu_words") if key in row]
        lines.append(f"  result {row['result']['sha256'][:16]}…, compared with {row['result']['against']}")
    compared = [row for row in result["rows"] if "setting" in row]
    if compared:
        lines += [*phase_table([(row["setting"], row["phases"]) for row in compared]), statistics.PAIRED]
    lines += _card_lines(result)
    versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items())
    lines.append(
        f"{m['cpu'].get('model', '?')} ({m['cpu']['llvm_name']}), {m['path']}, {m['usable_cores']} of {m['cores']} cores"
    )
    source = f"commit {m['commit']}" if m["commit"] else f"no checkout, sources {m['sources'][:12]}"
    lines.append(f"{versions}, {source}; load {m['load']} before, {result['load_after']} after")
    lines += [f"{subject}: {noise['line']}" for subject, noise in result["noise"].items()]
    return "\n".join(lines)
