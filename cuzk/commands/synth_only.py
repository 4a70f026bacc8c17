"""`cuzk synth-only`: circuit synthesis alone, C1 to witness and A·z, B·z, C·z, as often as wanted, in one way or in several."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from cuzk import __version__, config, statistics, workers
from cuzk.circuits import synthesis
from cuzk.circuits.hints import hints
from cuzk.circuits.synthesis import Synthesis
from cuzk.circuits.template import Shape
from cuzk.commands.choices import Ids
from cuzk.commands.synthesis_runs import Runs, Times, fingerprint
from cuzk.counters import Counters
from cuzk.errors import FalseInput, InternalError, UsageError
from cuzk.files import check_outputs
from cuzk.fixture import fabricate
from cuzk.formats import c1, c1_check, shapes
from cuzk.formats.c1 import C1
from cuzk.memory import budget_of, measured_peak, refuse_over, synthesis_needs
from cuzk.noise import Watch
from cuzk.progress import Progress
from cuzk.r1cs import evaluation, explicit
from cuzk.r1cs.expansion import digests
from cuzk.r1cs.packing import pack
from cuzk.seal import sector
from cuzk.statistics import Comparison
from cuzk.timing import Timer
from cuzk.variants import SYNTHESIS, Settings, apply, equal_words, equals, parse_variants

EXAMPLE = "c1-2kib.json"
ITERATIONS, ROUNDS = 5, 20  # alone, and comparing


@dataclass(frozen=True, slots=True)
class Options:
    """What `cuzk synth-only` was asked for."""

    c1_file: Path | None = None
    size: int | None = None
    partition: str = "0"
    iterations: int | None = None
    warmup: int = 1
    jobs: int | None = None
    variant: str | None = None
    opts: tuple[str, ...] = ()
    counters: bool = False
    check: bool = False
    digest: bool = False
    memory_budget: str | None = None
    timings: Path | None = None
    trace: Path | None = None
    as_json: bool = False


def parse_partitions(text: str, count: int) -> list[int]:
    """`all`, or partition numbers between commas. Raises UsageError."""
    if text.strip().lower() == "all":
        return list(range(count))
    try:
        chosen = [int(word) if word.isascii() else -1 for word in text.split(",")]
    except ValueError:
        chosen = [-1]
    if not chosen or any(not 0 <= k < count for k in chosen):
        raise UsageError("no such partition", where="--partition", expected=f"0 to {count - 1}, or all", got=text[:80])
    return list(dict.fromkeys(chosen))


def _settings(options: Options) -> dict[str, Settings]:
    """The settings to run, by their texts; the first is what the others are compared with."""
    base = apply(Settings(), options.opts, SYNTHESIS)
    if options.variant is None:
        return {"base": base}
    return parse_variants(options.variant, base, SYNTHESIS)


@dataclass(frozen=True, slots=True)
class Source:
    """A C1, where it is from, and what is false in it, where that was looked for and nevertheless its rows are wanted."""

    content: C1
    name: str
    falsehood: FalseInput | None = None


def _source(options: Options, timer: Timer, progress: Progress) -> Source:
    """Raises  UsageError; MalformedInput; FalseInput, without --check"""
    if options.size is not None:
        if options.c1_file is not None:
            raise UsageError("a C1 has its own size", where="--size", hint="leave one of the two out")
        its_sector = sector.parse(options.size)
        progress.line(f"making up a C1 of {its_sector.name} in memory")
        with timer.phase("fabricate_c1"):
            made = fabricate.fabricate(its_sector, fabricate.MINER, fabricate.SECTOR_NUMBER, fabricate.SEED, progress)
        return Source(made, f"made up, {its_sector.name}")
    with timer.phase("read_c1"):
        content = c1.load(options.c1_file or Path(str(resources.files("cuzk") / "data" / EXAMPLE)))
    falsehood = None
    with timer.phase("check_c1"):
        try:
            _check(content, progress)
        except FalseInput as error:
            if not options.check:
                raise
            progress.line(f"the C1 is false ({error.message}); looking for the first row that says so")
            falsehood = error
    return Source(content, str(options.c1_file or f"packaged {EXAMPLE}"), falsehood)


@dataclass(frozen=True, slots=True)
class Plan:
    """How many partitions at a time, and the memory that takes."""

    jobs: int
    budget: int
    predicted: int

    def as_dict(self) -> dict[str, int]:
        """For JSON, with the peak measured until now."""
        return {"budget": self.budget, "predicted_peak": self.predicted, "measured_peak": measured_peak()}


def _check(content: C1, progress: Progress) -> None:
    """Natively check what the C1 claims, as `prove` does, where the file says under which rules.

    Raises  FalseInput
    """
    try:
        replica = Ids().resolve(content)
    except UsageError as error:
        progress.line(f"the C1 was not checked: {error.message}")
        return
    c1_check.check(content, replica)


def _plan(
    options: Options, shape: Shape, content: C1, partitions: list[int], chosen: Sequence[Settings], progress: Progress
) -> Plan:
    """Raises  ResourceError with the minimum if the budget is too small"""
    rows = explicit.bytes_needed(shape) if any(s.lc_layout == "csr" for s in chosen) else 0
    hint_bytes = sum(array.nbytes for part in hints(content, partitions[0]) for array in part)
    once, each = synthesis_needs(shape, synthesis.bytes_of(shape), hint_bytes, rows)
    where = "--memory-budget" if options.memory_budget else "available memory"
    budget = budget_of(options.memory_budget, config.available_memory())
    refuse_over(once + each, budget, where, "this synthesis", _lower(rows))
    fitting = (budget - once) // each
    jobs = options.jobs or min(len(partitions), config.thread_count(), fitting)
    jobs = min(jobs, len(partitions))
    if options.jobs is not None and options.jobs > jobs:
        progress.line(f"--jobs {options.jobs}: there are {len(partitions)} partition(s), so {jobs} at a time")
    hint = f"at most {fitting} partition(s) at a time fit: --jobs {fitting}"
    refuse_over(once + jobs * each, budget, where, f"{jobs} partitions at a time", hint)
    return Plan(jobs, budget, once + jobs * each)


def _lower(rows: int) -> str:
    return f"lc-layout=csr alone takes {rows:,} bytes; leave it out" if rows else ""


def run(options: Options, start: float) -> dict[str, Any]:
    """Synthesize the chosen partitions again and again; facts of each, timed from the C1 in memory to A·z, B·z, C·z.

    Raises  UsageError; ResourceError if memory does not suffice; FalseInput if a row does not hold; InternalError if settings
            disagree about the result
    """
    timer, progress = Timer(start), Progress()
    timer.started()
    chosen = _settings(options)
    check_outputs({"--timings": options.timings, "--trace": options.trace}, [options.c1_file])
    progress.announce_compilation()
    source = _source(options, timer, progress)
    content = source.content
    partitions = parse_partitions(options.partition, content.vanilla.partitions)
    with timer.phase("record_shape"):
        shape = shapes.load_or_record(content.sector.size, progress)
    plan = _plan(options, shape, content, partitions, list(chosen.values()), progress)
    at_once = "one partition" if plan.jobs == 1 else f"{plan.jobs} partitions"
    progress.line(f"{at_once} at a time; predicted peak {plan.predicted:,} bytes of {plan.budget:,}")
    runs = Runs(shape, content, partitions, plan.jobs, timer)
    with timer.watching_workers():
        with timer.phase("prepare"):
            pack(shape)
            runs.prepare(list(chosen.values()))
        measurement = _measure(options, runs, chosen, progress)
        facts = _look(options, runs, chosen)
    if source.falsehood is not None:
        source.falsehood.hint = "every row of the chosen partitions holds: it is in another one, or the circuit does not state it"
        raise source.falsehood
    result = _result(options, runs, plan, measurement, facts, chosen)
    settings = next(iter(chosen.values())).as_dict()
    about: dict[str, Any] = {"sector_size": content.sector.size, "source": source.name, "settings": settings}
    if len(chosen) > 1:
        about["settings_compared"] = {name: its.as_dict() for name, its in chosen.items()}
    result = {**about, **result}
    timer.stop()
    if options.timings:
        timer.write_json(options.timings, result)
    if options.trace:
        timer.write_trace(options.trace, about)
    if not options.as_json:
        print(timer.table(), file=sys.stderr)
    return {
        **result,
        "seconds": round(timer.root.seconds, 3),
        "phases": timer.totals(),
        "side_by_side": timer.side_by_side(),
        "version": __version__,
    }


@dataclass(frozen=True, slots=True)
class Measurement:
    """Times of every setting by round, counters, and what disturbed them."""

    times: dict[str, list[Times]]
    counters: dict[str, dict[str, Any]]
    pinning: str
    noise: dict[str, Any]


def _measure(options: Options, runs: Runs, chosen: dict[str, Settings], progress: Progress) -> Measurement:
    """Warm-up apart, then rounds in turning order."""
    names = list(chosen)
    rounds = options.iterations or (ROUNDS if len(names) > 1 else ITERATIONS)
    pinning = workers.pin() if len(names) > 1 else "not pinned"
    times: dict[str, list[Times]] = {name: [] for name in names}
    with progress.bar("warm-up", float(options.warmup + rounds)):
        with runs.timer.phase("warm_up"):
            for _ in range(options.warmup):
                for name in names:
                    with _under(runs.timer, name, names):
                        runs.run(chosen[name])
                progress.advance(1)
        counters = {name: Counters() for name in names} if options.counters else {}
        watch = Watch()
        progress.label("timed runs")
        for order in statistics.orders(len(names), rounds):
            for name in (names[i] for i in order):
                with _under(runs.timer, name, names):
                    times[name].append(runs.run(chosen[name], counters.get(name)))
            progress.advance(1)
        noise = watch.report()
    reports = {}
    for name, counter in counters.items():
        reports[name] = counter.report()
        counter.close()
    return Measurement(times, reports, pinning, noise)


@contextmanager
def _under(timer: Timer, name: str, names: list[str]) -> Iterator[None]:
    """Phases that open here are of this setting, where there are several."""
    timer.setting = name if len(names) > 1 else None
    try:
        yield
    finally:
        timer.setting = None


def _look(options: Options, runs: Runs, chosen: dict[str, Settings]) -> dict[int, dict[str, Any]]:
    """What each partition is: sizes, and on request whether its rows hold, and its digests. All settings must agree."""
    shape, timer = runs.shape, runs.timer
    sizes = {"inputs": shape.num_inputs, "aux": shape.num_aux, "rows": shape.num_rows}
    facts: dict[int, dict[str, Any]] = {k: {"partition": k, **sizes} for k in runs.partitions}
    seen: dict[int, str] = {}
    first = next(iter(chosen))

    def look(name: str, k: int, result: Synthesis) -> None:
        if len(chosen) > 1:
            with timer.phase("compare"):
                found = fingerprint(result)
            if seen.setdefault(k, found) != found:
                raise InternalError(f"{name} and {first} give different results", partition=k, phase="compare")
            facts[k]["fingerprint"] = found
        if name == first and options.check:
            with timer.phase("check"):
                false_row = evaluation.first_false_row(shape, result.a, result.b, result.c)
            if false_row is not None:
                hint = "the C1 does not hold: cuzk prove checks it and says where"
                where = str(false_row)
                raise FalseInput("a row does not hold", file=options.c1_file, where=where, partition=k, phase="check", hint=hint)
        if name == first and options.digest:
            with timer.phase("digest"):
                facts[k] |= digests(shape, result.witness, result.a, result.b, result.c)

    if len(chosen) > 1 or options.check or options.digest:
        for name in chosen:
            with _under(timer, name, list(chosen)):
                runs.untimed(chosen[name], functools.partial(look, name))
    return facts


def _result(
    options: Options,
    runs: Runs,
    plan: Plan,
    measurement: Measurement,
    facts: dict[int, dict[str, Any]],
    chosen: dict[str, Settings],
) -> dict[str, Any]:
    """Everything as it is printed."""
    shape, threads = runs.shape, config.thread_count()
    first = next(iter(measurement.times))
    for k, mine in facts.items():
        seconds = statistics.summary([t.each[k] for t in measurement.times[first]])
        mine |= {"seconds": seconds.as_dict(), "rows_per_second": round(shape.num_rows / seconds.median)}
        mine["checked"] = options.check
    whole = statistics.summary([t.whole for t in measurement.times[first]])
    rows, written = len(facts) * shape.num_rows, len(facts) * synthesis.bytes_of(shape)
    write_rate = runs.write_rate()
    result: dict[str, Any] = {
        "partitions": list(facts.values()),
        "jobs": plan.jobs,
        "threads": threads,
        "warmup": options.warmup,
        "seconds_together": whole.as_dict(),
        "rows_per_second": round(rows / whole.median),
        "rows_per_second_per_core": round(rows / whole.median / threads),
        "bytes_written": written,
        "bytes_per_second": round(written / whole.median),
        "memory_bandwidth": round(write_rate),
        "share_of_bandwidth": round(written / whole.median / write_rate, 4),
        "memory": plan.as_dict(),
        "first_touch": _first_touch(runs, chosen[first]),
        "noise": {**measurement.noise, "pinning": measurement.pinning},
    }
    if measurement.counters:
        result["counters"] = measurement.counters[first]
    if len(measurement.times) > 1:
        result |= _comparison(rows, measurement, chosen)
    return result


def _first_touch(runs: Runs, settings: Settings) -> dict[str, Any]:
    """What making arrays and touching them for the first time took, where that is outside of the times."""
    seconds = [round(s, 6) for s in runs.first_touches]
    return {"in_the_times": not settings.presize, "seconds": statistics.median(seconds) if seconds else None, "n": len(seconds)}


def phase_medians(times: Sequence[Times]) -> dict[str, float]:
    """The median of each phase over runs; within a run, partitions are added up."""
    names = dict.fromkeys(name for t in times for name in t.phases)
    return {name: round(statistics.median([t.phases.get(name, 0.0) for t in times]), 6) for name in names}


def _comparison(rows: int, measurement: Measurement, chosen: dict[str, Settings]) -> dict[str, Any]:
    """The settings side by side, each against the first."""
    names, same = list(measurement.times), equals(chosen)
    seconds = {name: [t.whole for t in times] for name, times in measurement.times.items()}
    listed, words = [], []
    for name in names:
        summary = statistics.summary(seconds[name])
        one: dict[str, Any] = {"name": name, "settings": chosen[name].as_dict(), "changed": chosen[name].words()}
        one |= {"seconds": summary.as_dict(), "rows_per_second": round(rows / summary.median)}
        one["phases"] = phase_medians(measurement.times[name])
        one["times"] = [round(s, 6) for s in seconds[name]]
        if name in same:
            one |= {"equal_to": same[name], "equal_words": equal_words(name, same[name])}
        if name != names[0]:
            comparison: Comparison = statistics.compare(name, seconds[name], names[0], seconds[names[0]])
            words.append(comparison.words)
            one |= {"difference": comparison.as_dict(), "verdict": comparison.verdict, "words": comparison.words}
        if name in measurement.counters:
            one["counters"] = measurement.counters[name]
        listed.append(one)
    return {"variants": listed, "verdict": ". ".join(words), "differences": statistics.PAIRED}
