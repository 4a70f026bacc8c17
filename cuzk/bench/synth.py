"""Circuit synthesis in process: a C1 in memory to the witness and A·z, B·z, C·z of partition 0."""

from __future__ import annotations

import functools
from typing import Any

from cuzk import config
from cuzk.bench import known, measure, sampled_rows
from cuzk.bench.measure import Request
from cuzk.circuits import synthesis
from cuzk.circuits.hints import hints
from cuzk.circuits.synthesis import Buffers, Synthesis
from cuzk.circuits.template import Shape
from cuzk.fixture import fabricate
from cuzk.formats import c1, c1_resolve, registry, shapes
from cuzk.formats.c1 import C1
from cuzk.memory import refuse_over, synthesis_needs
from cuzk.r1cs import evaluation, explicit
from cuzk.r1cs.expansion import digests
from cuzk.r1cs.packing import pack
from cuzk.seal import sector
from cuzk.timing import Timer
from cuzk.variants import DEFAULTS, SYNTHESIS, Settings, apply

RUST = "digests of the witness and of A·z, B·z, C·z by the Rust stack for the same C1"
ROWS = (
    "(A·z)(B·z) = C·z on every row; ONE and the public inputs that public facts make; A·z, B·z, C·z of sampled rows, and of all "
    "final ones, by cuzk.spec.r1cs from the witness"
)
ALL = "; after every timed run the same in every bit"


class Task:
    """One synthesis, as often as wanted, into arrays that are there or into new ones."""

    def __init__(self, shape: Shape, content: C1, into: Buffers | None, settings: Settings = DEFAULTS) -> None:
        """`into` None: each run makes its arrays."""
        self.shape, self.content, self.into, self.settings = shape, content, into, settings
        self.made = explicit.expand(shape) if settings.lc_layout == "csr" else None
        self.found: Synthesis | None = None
        self._print = b""

    def forget(self) -> None:
        """Nothing of an earlier run can pass for the result of the next."""
        self.found = None
        if self.into is not None:
            self.into.overwrite()

    def look(self, name: str) -> None:
        """Raises  InternalError if the last run left another result than the one that was checked"""
        measure.same_again(self.found is not None and self._fingerprint() == self._print, name)

    def _fingerprint(self) -> bytes:
        assert self.found is not None
        witness = self.found.witness
        arrays = witness.inputs_mont, witness.bits, witness.elems_mont, self.found.a, self.found.b, self.found.c
        return measure.fingerprint(arrays)

    def __call__(self) -> None:
        self.found = None  # an array of the last run is given back before this one makes its own
        its = Timer(silent=True)
        self.found = synthesis.synthesize(self.shape, *hints(self.content, 0), self.settings, its, self.made, self.into)

    def check(self, name: str) -> dict[str, Any]:
        """Digests of the last result against the Rust stack's where they are known; else every row, and samples."""
        found = self.found
        assert found is not None
        self._print = self._fingerprint()
        its = digests(self.shape, found.witness, found.a, found.b, found.c)
        data = "".join(str(its[key]) for key in sorted(known.digests()["partition_0"])).encode()
        if self.content.sector.size == known.SECTOR_SIZE:
            wanted = known.digests()["partition_0"]
            return measure.result(data, RUST + ALL, all(its[key] == wanted[key] for key in wanted), name)
        false_row = evaluation.first_false_row(self.shape, found.a, found.b, found.c)
        holds = false_row is None and sampled_rows.hold(self.shape, found, _public_inputs(self.content))
        return measure.result(data, ROWS + ALL, holds, name)


def _public_inputs(content: C1) -> list[int]:
    """Those of partition 0 of `content_of`, from public facts."""
    if registry.of_size(content.sector):
        return c1_resolve.resolve(content).public_inputs(0)
    its, version = fabricate.porep_id(content.sector), fabricate.API_VERSION
    return c1_resolve.resolve(content, porep_id=its, api_version=version).public_inputs(0)


def content_of(size: int) -> C1:
    """The packaged example, or a C1 that is made up."""
    if size == known.SECTOR_SIZE:
        return c1.load(known.EXAMPLE)
    return fabricate.fabricate(sector.parse(size), fabricate.MINER, fabricate.SECTOR_NUMBER, fabricate.SEED)


def run(request: Request) -> list[dict[str, Any]]:
    """Each size on one CPU and on all: into arrays made before, and with arrays made by each run.

    Raises  ResourceError where memory is short
    """
    rows = []
    settings = apply(DEFAULTS, request.opts, SYNTHESIS)
    for size in request.sizes or (known.SECTOR_SIZE,):
        its, shape = sector.parse(size), shapes.load_or_record(size, request.progress)
        need = sum(synthesis_needs(shape, synthesis.bytes_of(shape), 0, 0))
        refuse_over(need, config.available_memory(), "available memory", f"synthesis {its.name}", measure.SMALLER)
        content = content_of(size)
        pack(shape)
        for arrays in ("made before", "made by each run"):
            mine = []
            for threads in request.cpus():
                name = f"synthesis {its.name}, arrays {arrays}"
                request.progress.line(f"{name}, {threads} thread(s)")
                with measure.on_cpus(threads):
                    into = synthesis.buffers(shape) if arrays == "made before" else None
                    if into is not None:
                        into.touch()
                    task = Task(shape, content, into, settings)
                    task.forget()
                    task()
                    shown = task.check(name)
                    times = measure.times_of(task, request.runs, task.forget, functools.partial(task.look, name))
                    row = measure.row(name, times, threads, result=shown)
                row["rows_per_second"] = round(shape.num_rows / row["seconds"]["median"])
                mine.append(row)
            rows += measure.with_speed_up(mine)
    return rows
