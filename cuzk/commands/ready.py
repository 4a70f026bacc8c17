"""A process that proves one C1 after the other, with shape, parameters and scratch of their circuit resident on its cards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from cuzk.commands.cards import Cards
from cuzk.commands.choices import choose_cards
from cuzk.commands.prove import Job, Options, device_seconds, open_cards, read_job, scalars_of, settings_of, work_of
from cuzk.errors import DeviceError
from cuzk.files import write_atomically
from cuzk.progress import Progress
from cuzk.timing import Phase, Timer
from cuzk.variants import Settings


class Ready:
    """Cards made ready for the circuit of a first input file; `open` does all that comes before the first proof."""

    def __init__(self, options: Options, settings: Settings, job: Job, cards: Cards, progress: Progress) -> None:
        self.options, self.settings, self.job, self.cards, self.progress = options, settings, job, cards, progress

    @classmethod
    def open(cls, options: Options, timer: Timer, progress: Progress) -> Ready:
        """For the file, parameters, partitions and cards that `options` names.

        Raises  as `prove.prove`; DeviceError without a card
        """
        cards = choose_cards(options.device, progress)
        if not cards:
            raise DeviceError("no card", expected="a card that works", got=options.device, hint="use --device cuda")
        settings = settings_of(options, cards)
        job = read_job(options, settings, timer, progress, card=cards[0])
        opened = open_cards(job, cards, options, settings, timer, progress)
        if not opened.provers:
            raise DeviceError("no card has room", where="--device", got=options.device, hint="use --device cuda to see why")
        return cls(options, settings, job, opened, progress)

    def prove(self, timer: Timer, **changes: Any) -> dict[str, Any]:
        """One file to one proof file: `changes` to the first options, as input_file, proof_file, unsafe_randomness.

        A C1 is checked beside the proofs, and no proof file is written of one that does not hold.
        Returns proof, cards and their memory, retries, device seconds by phase; the phases are in `timer`
        """
        options = replace(self.options, **changes)
        job = read_job(options, self.settings, timer, self.progress, card=self.cards.provers[0].card, held=self.job)
        scalars = scalars_of(options, job.partitions)
        with timer.watching_workers(), _beside(job.check, timer) as begin:
            work = work_of(job, scalars, self.settings, timer, begin)
            proofs = self.cards.prove(work, timer, self.progress)
        with timer.phase("write"):
            write_atomically(options.proof_file, proofs)
        return {"proof": proofs.hex(), **self.cards.facts, "device_phases": device_seconds(timer)}

    def free(self) -> None:
        """Give all device memory back."""
        self.cards.free()


@contextmanager
def _beside(check: Callable[[], None] | None, timer: Timer) -> Iterator[Callable[[], None]]:
    """Check the input on a thread of its own. What is false there is the error, whatever the proofs met.

    The check begins when the function that is given is called, or at the end: until a card has work it would only take the
    interpreter and the CPUs from what that work is made of.
    """
    begun = threading.Event()
    if check is None:
        yield begun.set
        return
    aside = Phase("beside", timer.now())

    def run() -> None:
        begun.wait()
        with timer.within(aside), timer.phase("check_c1"):
            check()

    with ThreadPoolExecutor(1, thread_name_prefix="check") as pool:
        future = pool.submit(run)
        try:
            yield begun.set
        finally:
            begun.set()
            future.result()
    for phase in aside.children:
        timer.span("beside", phase.name, phase.start, phase.seconds)
