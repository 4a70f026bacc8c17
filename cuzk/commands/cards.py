"""Partitions on cards: each staged while the one before is proved, spread over all cards, tried again where something failed.

A proof leaves here only after its check by pairing on the CPU. A partition whose proof fails it, or whose card reports an error
and still works, is proved again from its C1, on another card if there is one, a few times at most; a card that does not work any
more, or fails again and again, leaves its partitions to the others (`board`).
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from cuzk import config
from cuzk.circuits import synthesis
from cuzk.circuits.synthesis import Synthesis
from cuzk.circuits.template import Shape
from cuzk.circuits.witness import Hints
from cuzk.commands.board import IN_A_ROW, Board
from cuzk.device import ELSEWHERE, named
from cuzk.errors import CuzkError, DeviceError, InternalError, ResourceError
from cuzk.groth16.prove import WEIGHTS
from cuzk.groth16.verify import encode_checked
from cuzk.progress import Progress
from cuzk.sizes import parse_bytes, size_text
from cuzk.timing import Phase, Timer

if TYPE_CHECKING:
    from cuzk.circuits.synthesis_cuda import Tables
    from cuzk.groth16.keys import VerifyingKey
    from cuzk.groth16.needs_cuda import Load, Positions
    from cuzk.groth16.proof import Proof
    from cuzk.groth16.prove_cuda import Prover, Staged

# Device memory that is left to the driver: code of kernels, stacks of threads.
RESERVE = 512 << 20

Synthesize = Callable[[int, synthesis.Buffers, Timer], Synthesis]


def compile_for(cards: list[Any]) -> None:
    """Make the code that is not kept yet side by side; otherwise kernels compile one by one when they are first started."""
    from cuzk.cuda import compiler, offline

    if not config.cuda_simulated():
        wanted = [kernel for key, kernel in offline.declared().items() if ".rates_" not in key]
        for capability in dict.fromkeys(card.capability for card in cards):
            compiler.compile_all(wanted, capability)


@dataclass
class Work:
    """What the partitions of one run have in common."""

    shape: Shape
    vk: VerifyingKey
    synthesize: Synthesize  # partition, arrays to use, timer ↦ witness and row values
    public_inputs: Callable[[int], list[int]]
    scalars: dict[int, tuple[int, int]]
    hints: Callable[[int], tuple[Hints, Hints]] | None = None  # partition ↦ what a card synthesizes it from
    doubt: str = ""  # what to do if a proof is false again and again
    begun: Callable[[], None] = lambda: None  # called when a card has been given a partition, each time


@dataclass(frozen=True)
class _Ready:
    """A staged partition, and the phases that led to it."""

    place: Staged
    partition: int
    phases: list[Phase]


@dataclass
class Cards:
    """Cards made ready for the proofs of one circuit, and the host memory that they share."""

    shape: Shape
    provers: list[Prover]
    empty: Callable[..., Any] | None  # makes page-locked arrays
    synthesize: bool  # whether cards do, so that the host needs no memory for it
    facts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.working = list(self.provers)
        self.lost: set[str] = set()

    @classmethod
    def open(
        cls,
        cards: list[Any],
        shape: Shape,
        vk: VerifyingKey,
        where: dict[str, Positions],
        load: Load,
        *,
        partitions: int,
        limit: str | None = None,
        host_limit: int | None = None,
        pinned: bool = True,
        tables: Tables | None = None,
        skip: Callable[[Any, CuzkError], None] | None = None,
        timer: Timer,
        progress: Progress,
    ) -> Cards:
        """Points, transforms and scratch on as many cards as there are partitions, as far as they fit into `limit`; says what is
        needed and what there is. With `skip` a card that has too little memory or fails goes there and is left out.

        Points that do not fit are in host memory, once for all cards, in at most `host_limit` bytes. With the `tables` of the
        shape cards synthesize.

        Raises  ResourceError beforehand if a card or the host has too little memory; DeviceError if a card fails
        """
        from cuzk.groth16.host_points import HostPoints
        from cuzk.groth16.key_cuda import DeviceKey
        from cuzk.groth16.needs_cuda import Needs, needs
        from cuzk.groth16.prove_cuda import Prover

        host, size = HostPoints(host_limit), 0 if tables is None else tables.nbytes
        wanted = max(1, min(len(cards), partitions))
        planned: list[tuple[Any, Needs, dict[str, Any]]] = []
        for card in cards:
            if len(planned) == wanted:
                break
            with timer.phase("prepare"), _of_card(card, skip):
                free, count = card.free_memory(), card.multiprocessors
                with _refusing(card, free, limit):
                    making = load.scratch_bytes(count)
                    plan = needs(shape, where, _usable(free, limit), count, -(-partitions // wanted), making, size)
                host.check(plan.host)
                allowed = "" if limit is None else f", --device-memory allows {size_text(parse_bytes(limit, '--device-memory'))}"
                progress.line(f"{named(card)}: {size_text(plan.total)} of {size_text(free)} device memory free{allowed} ({plan})")
                fact = {"device": f"cuda:{card.ordinal}", "name": card.name, "uuid": card.uuid, "free_memory": free}
                planned.append((card, plan, fact | plan.as_dict()))
        with timer.phase("compile"):
            compile_for([card for card, _, _ in planned])
        provers: list[Prover] = []
        facts: list[dict[str, Any]] = []
        try:
            for card, plan, fact in planned:
                with timer.phase("srs_load"), _of_card(card, skip):
                    provers.append(Prover(DeviceKey(card, shape, where, load, plan, host), vk, tables))
                    facts.append(fact)
        except BaseException:
            _free_all(provers)
            raise
        empty = provers[0].card.pinned if pinned and provers else None
        return cls(shape, provers, empty, tables is not None, {"cards": facts})

    @functools.cached_property
    def buffers(self) -> synthesis.Buffers:
        """Host memory for one partition's witness and row values."""
        return synthesis.buffers(self.shape, empty=self.empty)

    def make_room(self) -> None:
        """Take the host memory that proofs need, once what made the points has given back its own."""
        if not self.synthesize:
            _ = self.buffers

    def free(self) -> None:
        """Give all memory of cards back, as far as they still answer."""
        _free_all(self.provers)

    def prove(self, work: Work, timer: Timer, progress: Progress) -> bytes:
        """The proofs of all partitions, one behind the other, in the order of `work.scalars`.

        Raises  the error of a partition that cannot be proved; ResourceError and false inputs at once; DeviceError if all cards
                were lost before
        """
        if not self.working:
            raise DeviceError(
                "no card is left",
                where=", ".join(named(prover.card) for prover in self.provers),
                expected="a card that works",
                got="all of them failed earlier in this process",
                hint="look at nvidia-smi and the kernel log, and start a new process",
            )
        board = Board(work.scalars, [prover.track for prover in self.working])
        before = [(prover.card.bytes_in, prover.card.bytes_out) for prover in self.provers]
        synthesizing = threading.Lock()
        runs = [_Run(prover, self, board, work, synthesizing, timer, progress) for prover in self.working]
        with progress.bar("proving", float(sum(WEIGHTS.values()) * len(work.scalars))):
            if len(runs) == 1:
                runs[0].run()
            else:
                _together(runs, timer)
        for fact, prover, (inward, outward) in zip(self.facts["cards"], self.provers, before, strict=True):
            fact |= {"bytes_in": prover.card.bytes_in - inward, "bytes_out": prover.card.bytes_out - outward}
            fact |= {"lost": prover.track in self.lost} | board.facts(prover.track)
            with contextlib.suppress(CuzkError):
                fact["taken"] = max(fact.get("taken", 0), fact["free_memory"] - prover.card.free_memory())
        self.facts["retries"] = board.retries
        if board.error is not None:
            raise board.error
        return b"".join(board.proofs[k] for k in work.scalars)


def _free_all(provers: list[Prover]) -> None:
    for prover in provers:
        with contextlib.suppress(CuzkError):
            prover.free()


def _together(runs: list[_Run], timer: Timer) -> None:
    """All cards at once, a thread each."""
    with timer.phase("cards") as parent, ThreadPoolExecutor(len(runs), thread_name_prefix="card") as pool:

        def one(run: _Run) -> None:
            with timer.within(parent):
                run.run()

        for future in [pool.submit(one, run) for run in runs]:
            future.result()


@contextlib.contextmanager
def _of_card(card: Any, skip: Callable[[Any, CuzkError], None] | None) -> Iterator[None]:
    """What stands in the way of one card goes to `skip`, if that is given."""
    try:
        yield
    except (ResourceError, DeviceError) as error:
        if skip is None:
            raise
        skip(card, error)


@contextlib.contextmanager
def _refusing(card: Any, free: int, limit: str | None) -> Iterator[None]:
    """A refusal for too little device memory says which card, what is free there, and what to change."""
    try:
        yield
    except ResourceError as error:
        error.where, usable = named(card), _usable(free, None)
        if limit is not None and _usable(free, limit) < usable:
            error.where += ", --device-memory"
            error.hint = f"raise --device-memory ({size_text(usable)} are free), or use --device cpu"
        elif usable < free:
            error.got = f"{error.got} of {size_text(free)} free, the rest is left to the driver"
        raise


def _usable(free: int, limit: str | None) -> int:
    usable = free - RESERVE if free > 2 * RESERVE else free
    return usable if limit is None else min(usable, parse_bytes(limit, "--device-memory"))


class _Run:
    """One card at work: one thread synthesizes and stages partitions, another proves them, a third checks the proofs."""

    def __init__(
        self,
        prover: Prover,
        cards: Cards,
        board: Board,
        work: Work,
        synthesizing: threading.Lock,
        timer: Timer,
        progress: Progress,
    ) -> None:
        self.prover, self.cards, self.board, self.work = prover, cards, board, work
        self.synthesizing, self.timer, self.progress = synthesizing, timer, progress
        self.free: SimpleQueue[Staged | None] = SimpleQueue()
        self.ready: SimpleQueue[_Ready | None] = SimpleQueue()

    def run(self) -> None:
        """Until all is done, or this card or the run has failed."""
        self.parent = self.timer.innermost()
        for place in self.prover.places:
            self.free.put(place)
        try:
            with (
                ThreadPoolExecutor(1, thread_name_prefix=f"check of {self.prover.track}") as verifying,
                ThreadPoolExecutor(1, thread_name_prefix="stage") as pool,
            ):
                staging = pool.submit(self._stage_all)
                try:
                    while (found := self._awaited()) is not None and self._proved(found, verifying):
                        self.free.put(found.place)
                except BaseException as error:
                    self.board.fail(None, InternalError(f"the run broke off: {type(error).__name__}"))
                    raise
                finally:
                    self.free.put(None)
            staging.result()
        finally:
            # What a card that failed had ready.
            while not self.ready.empty():
                if (left := self.ready.get()) is not None:
                    self.board.again(left.partition, self.prover.track)

    def _awaited(self) -> _Ready | None:
        with self.timer.phase("await_synthesis") as phase:
            found = self.ready.get()
        if found is not None:
            phase.children.extend(found.phases)
        return found

    def _stage_all(self) -> None:
        """Synthesize and stage, one partition after the other, whenever there is a place."""
        try:
            while (place := self.free.get()) is not None:
                k = self.board.take(self.prover.track)
                if k is None:
                    return
                try:
                    self.ready.put(self._staged(place, k))
                    self.work.begun()
                except CuzkError as error:
                    if not self._failed(k, error):
                        return
                    self.free.put(place)
        except BaseException as error:
            self.board.fail(None, InternalError(f"the run broke off: {type(error).__name__}"))
            raise
        finally:
            self.ready.put(None)

    def _staged(self, place: Staged, k: int) -> _Ready:
        timer, ahead = self.timer, Phase("ahead", self.timer.now())
        with timer.within(ahead):
            timer.partition = k
            if self.cards.synthesize:
                assert self.work.hints is not None
                self.prover.synthesize(place, *self.work.hints(k), timer)
            else:
                with self.synthesizing:  # one host memory for all cards
                    made = self.work.synthesize(k, self.cards.buffers, timer)
                    with timer.phase("upload"):
                        self.prover.stage(place, made.witness, (made.a, made.b, made.c))
        for phase in ahead.children:
            timer.span(f"ahead of {self.prover.track}", phase.name, phase.start, phase.seconds, k)
        return _Ready(place, k, ahead.children)

    def _proved(self, found: _Ready, verifying: ThreadPoolExecutor) -> bool:
        """Prove what was staged, and have the proof checked meanwhile. False if this card can do no more."""
        timer, k = self.timer, found.partition
        if not self.board.works(self.prover.track):
            self.board.again(k, self.prover.track)
            return False
        timer.partition = k
        try:
            proof = self.prover.prove(found.place, *self.work.scalars[k], timer, self._step)
        except CuzkError as error:
            return self._failed(k, error)
        finally:
            timer.partition = None
        verifying.submit(self._verified, k, proof)
        return True

    def _verified(self, k: int, proof: Proof) -> None:
        """Check a proof by pairing: only then is its partition done."""
        timer = self.timer
        try:
            with timer.within(self.parent):
                timer.partition = k
                with timer.phase("verify"):
                    encoded = encode_checked(self.work.vk, proof, self.work.public_inputs(k), ELSEWHERE + self.work.doubt)
            self.board.done(k, self.prover.track, encoded)
        except CuzkError as error:
            self._failed(k, error)
        except BaseException as error:
            self.board.fail(None, InternalError(f"the run broke off: {type(error).__name__}"))
            raise

    def _step(self, name: str) -> None:
        self.progress.advance(WEIGHTS[name], name)

    def _failed(self, k: int, error: CuzkError) -> bool:
        """Decide what becomes of a partition whose attempt failed. False if this card can do no more."""
        if not isinstance(error, DeviceError | InternalError | ResourceError):
            self.board.fail(k, error)
            return False
        track = self.prover.track
        if track not in (error.where or ""):
            error.where = f"{track}, {error.where}" if error.where else track
        works = self._works()
        if not works:
            self.cards.lost.add(track)
            with contextlib.suppress(ValueError):  # another thread of this card has
                self.cards.working.remove(self.prover)
        if not works or isinstance(error, ResourceError):
            if self.board.leave(track):
                self.progress.line(f"{track} failed and leaves its partitions to the others: {error.message}")
                self.board.again(k, track)
            else:
                self.board.fail(k, error)
            return False
        if not self.board.again(k, track, error):
            self.board.fail(k, error)
            return False
        self.progress.line(f"partition {k}, which failed on {track}, is proved again: {error.message}")
        if self.board.works(track):
            return True
        if self.board.error is None:
            self.progress.line(f"{track} failed {IN_A_ROW} times in a row and leaves its partitions to the others")
        return False

    def _works(self) -> bool:
        try:
            self.prover.card.synchronize()
        except CuzkError:
            return False
        return True
