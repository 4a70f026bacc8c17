"""One input file to one proof file: read, check, synthesize, prove, verify, write. The partitions follow one another."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cuzk import __version__, config, device, variants
from cuzk.circuits import synthesis
from cuzk.circuits.hints import hints
from cuzk.circuits.synthesis import Synthesis
from cuzk.circuits.template import Shape, Witness
from cuzk.circuits.witness import Hints
from cuzk.commands.cards import Cards, Work
from cuzk.commands.choices import Ids, choose_cards, chosen_partitions, device_names
from cuzk.errors import CuzkError, FalseCircuit, InternalError, UsageError
from cuzk.field.limbs import fr_ints
from cuzk.field.params import R
from cuzk.files import check_outputs, write_atomically
from cuzk.formats import c1, c1_check, circuit, randomness, shapes
from cuzk.groth16 import prove as groth16
from cuzk.groth16.proof import PROOF_BYTES
from cuzk.groth16.verify import encode_checked
from cuzk.memory import budget_of, predicted_peak, predicted_peak_beside_cards, refuse_over
from cuzk.msm.rows import Rows, rows_from_be
from cuzk.parameters import policy, resident
from cuzk.progress import Progress
from cuzk.r1cs import evaluation, explicit
from cuzk.r1cs.explicit import Explicit
from cuzk.sizes import parse_bytes
from cuzk.timing import Timer
from cuzk.variants import Settings

if TYPE_CHECKING:
    from cuzk.circuits.synthesis_cuda import Tables


@dataclass(frozen=True, slots=True)
class Options:
    """What `cuzk prove` was asked for."""

    input_file: Path
    proof_file: Path
    params: str = "auto"
    verify_params: str = "cached"
    device: str = "auto"
    ids: Ids = field(default_factory=Ids)
    partition: int | None = None
    unsafe_randomness: Path | None = None
    memory_budget: str | None = None
    device_memory: str | None = None
    opts: tuple[str, ...] = ()
    timings: Path | None = None
    trace: Path | None = None
    as_json: bool = False


@dataclass(slots=True)
class Job:
    """What is to be proved: a shape, its parameters, and for each partition a witness and the verifier's inputs."""

    shape: Shape
    parameters: policy.Parameters | resident.Resident
    partitions: list[int]
    given: Witness | None  # where the witness is in the input file
    hints: Callable[[int], tuple[Hints, Hints]] | None  # else what it is made from
    public_inputs: Callable[[int], list[int]]
    facts: dict[str, Any] = field(default_factory=dict)
    check: Callable[[], None] | None = None  # of the C1, if that is still to be done


ParametersOf = Callable[[policy.Located, Shape], policy.Parameters | resident.Resident]


def prove(options: Options, start: float) -> dict[str, Any]:
    """Run the whole pipeline and return the facts of the run. `start` is the process's own start on the monotonic clock.

    Raises  CuzkError of the kind that fits; then nothing was written.
    """
    timer = Timer(start)
    progress = Progress()
    timer.started()
    progress.announce_compilation()
    with timer.phase("open_device"):
        cards = choose_cards(options.device, progress)
    settings = settings_of(options, cards)
    if options.device_memory is not None:
        parse_bytes(options.device_memory, "--device-memory")
    outputs = {"-o": options.proof_file, "--timings": options.timings, "--trace": options.trace}
    check_outputs(outputs, [options.input_file, options.unsafe_randomness])
    job = read_job(options, settings, timer, progress, card=cards[0] if cards else None)
    scalars = scalars_of(options, job.partitions)
    if not cards:
        _check_memory(options, job, settings, on_cards=False)
    facts: dict[str, Any] = {}
    with timer.watching_workers(), _named(options.input_file):
        proofs = None
        if cards:
            proofs = _prove_on_cards(job, cards, scalars, options, settings, timer, progress, facts)
        if cards and proofs is None:
            cards = []
            settings = settings_of(options, cards)
            _move_to_cpu(job, options, settings, timer, progress)
        if proofs is None:
            proofs = _prove_partitions(job, scalars, settings, timer, progress)
    with timer.phase("write"):
        write_atomically(options.proof_file, proofs)
    seconds = timer.stop()
    result = {
        "proof": proofs.hex(),
        "bytes": len(proofs),
        "partitions": len(job.partitions),
        **job.facts,
        "parameters": job.parameters.as_dict(),
        "verified": True,
        "device": device_names(cards),
        **facts,
        "settings": settings.as_dict(on_cards=bool(cards)),
        "randomness": "file" if options.unsafe_randomness else "system",
        "output": str(options.proof_file),
        "seconds": round(seconds, 3),
        "phases": timer.totals(),
        "side_by_side": timer.side_by_side(),
        "version": __version__,
    }
    facts = {k: v for k, v in result.items() if k not in ("proof", "phases", "side_by_side", "seconds")}
    if options.timings:
        timer.write_json(options.timings, facts)
    if options.trace:
        timer.write_trace(options.trace, facts)
    if not options.as_json:
        print(timer.table(), file=sys.stderr)
    return result


def _move_to_cpu(job: Job, options: Options, settings: Settings, timer: Timer, progress: Progress) -> None:
    """Make a job that was meant for cards ready for the CPU, whose parameters are in a file. Raises as `prove`."""
    if isinstance(job.parameters, resident.Resident):
        located = job.parameters.located
        with timer.phase("srs_load"):
            job.parameters = policy.open_checked(located, job.shape, options.verify_params, progress)
    _check_memory(options, job, settings, on_cards=False)


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """A circuit that turns out to be false while it is proved is named."""
    try:
        yield
    except FalseCircuit as error:
        error.file = str(file)
        raise


def read_job(
    options: Options, settings: Settings, timer: Timer, progress: Progress, *, card: Any, held: Job | None = None
) -> Job:
    """The input file, checked, with its circuit's shape and parameters. With those of `held` a C1 is left to be checked.

    `card`: one of those that prove, which makes development parameters that are not there; None for the CPU.

    Raises  UsageError if the file is of another circuit than `held`
    """

    def parameters_of(located: policy.Located, shape: Shape) -> policy.Parameters | resident.Resident:
        if card is not None and resident.wanted(located, shape):
            return resident.make(located, shape, progress, timer, settings.fold_c)
        return policy.open_checked(located, shape, options.verify_params, progress, card)

    if circuit.is_circuit(options.input_file):
        return _circuit_job(options, timer, parameters_of)
    return _c1_job(options, timer, progress, parameters_of, held)


def _c1_job(options: Options, timer: Timer, progress: Progress, parameters_of: ParametersOf, held: Job | None) -> Job:
    with timer.phase("read_c1"):
        content = c1.load(options.input_file)
        replica = options.ids.resolve(content)
    partitions = chosen_partitions(replica.partitions, options.partition)
    size = replica.sector.size
    if held is None:
        with timer.phase("srs_load"):
            located = policy.locate(size, options.params, progress)
        with timer.phase("check_c1"):
            c1_check.check(content, replica, progress)
        with timer.phase("record_shape"):
            shape = shapes.load_or_record(size, progress)
        with timer.phase("srs_load"):
            parameters = parameters_of(located, shape)
    else:
        if (expected := held.facts.get("sector_size")) != size:
            raise UsageError("a C1 of another sector size", file=options.input_file, expected=expected, got=size)
        shape, parameters = held.shape, held.parameters
    if not replica.ids_checked:
        progress.line("ids not given: the proof is for the replica_id in the C1, which was not cross-checked (--miner, --sector)")
    return Job(
        shape,
        parameters,
        partitions,
        None,
        lambda k: hints(content, k),
        replica.public_inputs,
        {
            "sector_size": size,
            "registered_proof": replica.registered_proof,
            "ids_checked": replica.ids_checked,
            **({"aggregated": False} if replica.feature == "non-interactive" else {}),
        },
        check=None if held is None else lambda: c1_check.check(content, replica, progress),
    )


def _circuit_job(options: Options, timer: Timer, parameters_of: ParametersOf) -> Job:
    with timer.phase("read_c1"):
        shape, values = circuit.load(options.input_file)
    if options.partition not in (None, 0):
        raise UsageError("a circuit has one partition", where="--partition", expected=0, got=options.partition)
    _refuse_synthesis_switches(options)
    with timer.phase("srs_load"):
        located = policy.locate_circuit(options.input_file, shape, options.params)
        parameters = parameters_of(located, shape)
    inputs = fr_ints(values.inputs_mont)[1:]
    return Job(shape, parameters, [0], values, None, lambda _: inputs, {"circuit": shape.name, "ids_checked": False})


def _refuse_synthesis_switches(options: Options) -> None:
    """A circuit file holds its witness: nothing is left that a switch of synthesis could change."""
    for opt in options.opts:
        name = opt.partition("=")[0].strip().lower()
        if variants.SYNTHESIS in variants.SWITCHES[name].touches:
            raise UsageError(
                f"{name} is about synthesis, and a circuit file holds its witness", where="--opt", hint=f"leave {name} out"
            )


def settings_of(options: Options, cards: list[Any]) -> Settings:
    """The switches of a run on these cards, or on the CPU without any. Raises UsageError."""
    settings = variants.apply(Settings(), options.opts, variants.PROOF, device=device_names(cards))
    if cards:
        _refuse_cpu_switches(settings)
    return settings


def _refuse_cpu_switches(settings: Settings) -> None:
    """On a card the sums follow one another, each with the window width that its size wants."""
    for name, given, usual in (
        ("parallel-b-g2", settings.parallel_b_g2, variants.DEFAULTS.parallel_b_g2),
        ("msm-window", settings.msm_window, variants.DEFAULTS.msm_window),
    ):
        if given != usual:
            raise UsageError(
                f"{name} is about sums of points on the CPU", where="--opt", hint=f"leave {name} out, or --device cpu"
            )


def scalars_of(options: Options, partitions: list[int]) -> dict[int, tuple[int, int]]:
    """r and s of each partition: from the system, or from a file for tests."""
    if options.unsafe_randomness is None:
        return {k: (secrets.randbelow(R), secrets.randbelow(R)) for k in partitions}
    return randomness.read(options.unsafe_randomness, partitions)


def _check_memory(options: Options, job: Job, settings: Settings, on_cards: bool) -> int:
    """Bytes of host memory that are left beside what the run is known to need. Raises ResourceError if it needs more."""
    # What the parameters hold is given back before the rest is taken.
    available = config.available_memory() + job.parameters.held_bytes
    budget = budget_of(options.memory_budget, available)
    shape = job.shape
    synthesize = not _synthesized_on_cards(shape, settings)
    need = predicted_peak_beside_cards(shape, synthesize) if on_cards else predicted_peak(shape)
    need += explicit.bytes_needed(shape) if settings.lc_layout == "csr" else 0
    refuse_over(need, budget, "--memory-budget" if options.memory_budget else "available memory")
    return budget - max(need, job.parameters.held_bytes)


def _prove_on_cards(
    job: Job,
    cards: list[Any],
    scalars: dict[int, tuple[int, int]],
    options: Options,
    settings: Settings,
    timer: Timer,
    progress: Progress,
    facts: dict[str, Any],
) -> bytes | None:
    """The proofs of all partitions on cards; `facts` get memory, retries and device seconds by phase. None: no card has room."""
    opened = open_cards(job, cards, options, settings, timer, progress)
    if not opened.provers:
        return None
    try:
        proofs = opened.prove(work_of(job, scalars, settings, timer), timer, progress)
    finally:
        opened.free()
    used = device_names([prover.card for prover in opened.provers])
    facts |= opened.facts | {"device": used, "device_phases": device_seconds(timer)}
    return _whole(job, proofs)


def open_cards(job: Job, cards: list[Any], options: Options, settings: Settings, timer: Timer, progress: Progress) -> Cards:
    """Cards with the points of a job's circuit, for as many partitions as it has.

    With `--device auto` those that have no room for them are left out, a line each, maybe all.
    """
    from cuzk.groth16.needs_cuda import positions_of

    def left_out(card: Any, error: CuzkError) -> None:
        progress.line(device.unused(device.named(card), error))

    skip = left_out if device.parse(options.device).kind == "auto" else None

    host_limit = _check_memory(options, job, settings, on_cards=True)
    tables = _tables(job, settings, timer)
    with timer.phase("prep_msm"):
        where = positions_of(job.shape, job.parameters.folded)
    opened = Cards.open(
        cards,
        job.shape,
        job.parameters.vk,
        where,
        job.parameters.points(timer),
        partitions=len(job.partitions),
        limit=options.device_memory,
        host_limit=host_limit,
        pinned=settings.pinned,
        tables=tables,
        skip=skip,
        timer=timer,
        progress=progress,
    )
    job.parameters.forget()
    if not opened.provers:
        return opened
    try:
        with timer.phase("presize"):
            opened.make_room()
    except BaseException:
        opened.free()
        raise
    return opened


def work_of(
    job: Job,
    scalars: dict[int, tuple[int, int]],
    settings: Settings,
    timer: Timer,
    begun: Callable[[], None] = lambda: None,
) -> Work:
    """What cards need of a job; `begun` is called once a card has work."""
    made = _explicit(job, settings, timer)

    def synthesize(k: int, into: synthesis.Buffers, timer: Timer) -> Synthesis:
        if job.given is not None:
            with timer.phase("eval_abc"):
                return Synthesis(job.given, *evaluation.evaluate(job.shape, job.given, (into.out.a, into.out.b, into.out.c)))
        assert job.hints is not None
        return synthesis.synthesize(job.shape, *job.hints(k), settings, timer, made, into)

    return Work(job.shape, job.parameters.vk, synthesize, job.public_inputs, scalars, job.hints, job.parameters.doubt, begun)


def _synthesized_on_cards(shape: Shape, settings: Settings) -> bool:
    """Whether cards synthesize: a shape that is made from hints, unless a switch says how a CPU is to do it."""
    usual = settings.lc_layout == variants.DEFAULTS.lc_layout and settings.stream_witness == variants.DEFAULTS.stream_witness
    return usual and shape.facts.get("kind") == "porep"


def _tables(job: Job, settings: Settings, timer: Timer) -> Tables | None:
    """What cards synthesize from; None if the CPU is to do it, or a segment is too large for a card."""
    from cuzk.circuits.synthesis_cuda import Tables
    from cuzk.r1cs.levelling import level

    if not _synthesized_on_cards(job.shape, settings):
        return None
    with timer.phase("prepare"):
        levelled = level(job.shape)
        return None if levelled is None else Tables(job.shape, levelled)


def device_seconds(timer: Timer) -> dict[str, float]:
    """Seconds of device time by phase, of all cards together."""
    found: dict[str, float] = {}
    for span in timer.spans:
        if span.track.startswith("cuda:"):
            found[span.name] = round(found.get(span.name, 0.0) + span.seconds, 6)
    return found


def _whole(job: Job, proofs: bytes) -> bytes:
    if len(proofs) != PROOF_BYTES * len(job.partitions):
        raise InternalError("proof length", expected=PROOF_BYTES * len(job.partitions), got=len(proofs))
    return proofs


def _explicit(job: Job, settings: Settings, timer: Timer) -> Explicit | None:
    if settings.lc_layout != "csr" or job.hints is None:
        return None
    with timer.phase("prepare"):
        return explicit.expand(job.shape)


def _synthesis(
    job: Job, k: int, settings: Settings, made: Explicit | None, timer: Timer
) -> tuple[Witness, list[npt.NDArray[np.uint64]] | None]:
    """Witness of a partition, and its row values in arrays as long as the domain unless the prover is to make them."""
    if job.given is not None:
        return job.given, None
    assert job.hints is not None
    into = synthesis.buffers(job.shape, 1 << job.shape.domain_log2)
    if settings.presize:
        with timer.phase("presize"):
            into.touch()
    found = synthesis.synthesize(job.shape, *job.hints(k), settings, timer, made, into)
    return found.witness, [found.a, found.b, found.c]


def _h_rows(key: policy.Parameters) -> Rows:
    """The H query as rows, for all partitions."""
    rows = rows_from_be("g1", key.h_be, threads=1)
    key.file.forget("h")
    return rows


def _prove_partitions(
    job: Job, scalars: dict[int, tuple[int, int]], settings: Settings, timer: Timer, progress: Progress
) -> bytes:
    proofs = []
    key = job.parameters
    assert isinstance(key, policy.Parameters)  # others are made on cards
    # One thread turns the H query into rows while this one does what a single thread has to do.
    beside = ThreadPoolExecutor(1, thread_name_prefix="h_rows")
    h_rows = beside.submit(_h_rows, key)
    beside.shutdown(wait=False)
    made = _explicit(job, settings, timer)
    with timer.phase("prep_msm"):
        where = groth16.queries(job.shape)
    with progress.bar("proving", 100.0 * len(job.partitions)):
        for k in job.partitions:
            timer.partition = k
            try:
                values, rows = _synthesis(job, k, settings, made, timer)
                proof = groth16.prove(job.shape, values, key, where, *scalars[k], timer, progress, settings, rows, h_rows.result)
                del values
                with timer.phase("verify"):
                    encoded = encode_checked(job.parameters.vk, proof, job.public_inputs(k), job.parameters.doubt)
            except CuzkError as error:
                error.partition = k if error.partition is None else error.partition
                raise
            proofs.append(encoded)
    timer.partition = None
    return _whole(job, b"".join(proofs))


def prove_text(result: dict[str, Any]) -> str:
    """The result for people."""
    kind = result["parameters"]["kind"]
    lines = [f"{result['output']}: {result['bytes']} bytes, {result['partitions']} partition(s), verified, {result['seconds']} s"]
    lines.append(f"parameters: {kind}, {result['parameters']['path'] or 'made on the card, kept nowhere'}")
    if result["parameters"]["accepted_by_chain"] is False:
        lines.append("  development parameters: no chain accepts this proof")
    if result.get("aggregated") is False:
        lines.append("  non-interactive: the concatenation of the partitions, not yet the aggregate that a chain takes")
    if "sector_size" in result:
        state = "checked against the replica_id" if result["ids_checked"] else "not cross-checked (give --miner and --sector)"
        lines.append(f"ids: {state}")
    return "\n".join(lines)
