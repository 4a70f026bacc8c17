"""`cuzk bench`: medians and spread of parts and of the whole, with checked results, a peer in the same run, and the machine."""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass
from typing import Any

from cuzk import __version__, statistics, variants
from cuzk.bench import arkworks, machine, measure
from cuzk.bench.measure import Request
from cuzk.circuits.params import parse_size
from cuzk.commands.choices import choose_device
from cuzk.commands.synthesis_text import phase_table
from cuzk.errors import UsageError
from cuzk.noise import Watch
from cuzk.progress import Progress
from cuzk.variants import DEFAULTS

SUBJECTS = ("field", "ntt", "msm", "synth", "prove", "setup")
OF_ELEMENTS, OF_SECTORS = ("ntt", "msm"), ("synth", "prove", "setup")
WITH_SWITCHES = ("synth", "prove")
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
        found = measure.parse_powers(text)
        if min(found) < SMALLEST[subject]:
            raise UsageError("too small to measure", where="--size", expected=f"at least 2^{SMALLEST[subject]}", got=text[:60])
        return found
    if subject in OF_SECTORS:
        return tuple(dict.fromkeys(parse_size(word) for word in text.split(",")))
    raise UsageError("this subject has no sizes", where="--size", expected=f"one of {', '.join(OF_ELEMENTS + OF_SECTORS)}")


def _check_switches(options: Options) -> None:
    """Raises  UsageError for switches where nothing has them, and as `variants.parse_variants`"""
    if options.opts and options.subject not in WITH_SWITCHES:
        raise UsageError("this subject has no switches", where="--opt", expected=f"one of {', '.join(WITH_SWITCHES)}")
    if options.variant is not None and options.subject != "prove":
        hint = "cuzk synth-only --variant compares settings of synthesis"
        raise UsageError("settings are compared in whole proofs", where="--variant", expected="cuzk bench prove", hint=hint)
    base = variants.apply(DEFAULTS, options.opts, variants.SYNTHESIS if options.subject == "synth" else variants.PROOF)
    if options.variant is not None:
        variants.parse_variants(options.variant, base, variants.PROOF)


def run(options: Options) -> dict[str, Any]:
    """Measure one subject, or all.

    Raises  UsageError; DeviceError; InternalError if a result is wrong
    """
    began = time.perf_counter()
    choose_device(options.device, "bench")
    _check_switches(options)
    progress = Progress()
    progress.announce_compilation()
    if options.peers:
        arkworks.module()
    request = Request(
        options.runs or (measure.RUNS if options.variant is None else measure.ROUNDS),
        sizes(options.subject, options.size),
        () if options.threads is None else (options.threads,),
        options.peers,
        options.opts,
        options.variant,
        progress,
    )
    subjects, rows = (options.subject,) if options.subject else SUBJECTS, []
    found = machine.describe((arkworks.PACKAGE,) if options.peers else ())
    noise = {}
    for subject in subjects:
        watch = Watch(with_children=True)
        for row in importlib.import_module(f"cuzk.bench.{subject}").run(request):
            rows.append({"subject": subject, **row})
        noise[subject] = watch.report()
    return {
        "subjects": list(subjects),
        "rows": rows,
        "machine": found,
        "load_after": machine.load(),
        "noise": noise,
        "device": "cpu",
        "seconds": round(time.perf_counter() - began, 3),
        "version": __version__,
    }


def _time(seconds: float) -> str:
    """With a unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1 or unit == "µs":
            return f"{seconds * scale:.3f} {unit}"
    raise AssertionError


def line(row: dict[str, Any]) -> str:
    """A row for people."""
    s = row["seconds"]
    head = f"{row['name']}, {row['path']}, {row['threads']} thread(s)"
    text = f"{head}: {_time(s['median'])} ({_time(s['min'])} to {_time(s['max'])}, spread {_time(s['spread'])}, n = {s['n']})"
    for key, words in WORDS.items():
        if key in row:
            text += f"; {words.format(row[key])}"
    if "peer" in row:
        text += f"; {row['peer']['ratio']:.2f} times as fast as {row['peer']['name']} {row['peer']['version']}"
    return text


WORDS = {
    "ns_per_lane": "{:.2f} ns a lane",
    "ns_per_butterfly": "{:.2f} ns a butterfly",
    "against_floor": "{:.2f} of a product with the traffic of both elements",
    "ns_per_point_and_window": "{:.1f} ns a point and window",
    "rows_per_second": "{:,} rows/s",
    "speed_up": "{:.2f} times one thread",
    "peak_memory": "peak memory {:,} bytes",
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
    versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items())
    lines.append(
        f"{m['cpu'].get('model', '?')} ({m['cpu']['llvm_name']}), {m['path']}, {m['usable_cores']} of {m['cores']} cores"
    )
    lines.append(f"{versions}, commit {m['commit'] or 'unknown'}; load {m['load']} before, {result['load_after']} after")
    lines += [f"{subject}: {noise['line']}" for subject, noise in result["noise"].items()]
    return "\n".join(lines)
