"""Development parameters that are made on the cards that use them and kept nowhere: for circuits whose file would be large.

They are the points that `cuzk setup` writes for the same circuit, since the waste is public, or the same with C folded in
(`logarithms`), which proofs do not show.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from cuzk import config
from cuzk.circuits.template import Shape
from cuzk.errors import InternalError, ParametersError
from cuzk.formats import vk
from cuzk.groth16.logarithms import Logarithms, lengths, memory_need
from cuzk.groth16.setup import vk_be
from cuzk.memory import refuse_over
from cuzk.parameters import development
from cuzk.parameters.policy import Located
from cuzk.progress import Progress
from cuzk.timing import Timer

if TYPE_CHECKING:
    from cuzk.groth16.needs_cuda import Load


class Resident:
    """Parameters of one circuit without a file: what `policy.Parameters` is to the commands."""

    kind = "development"
    path = None

    def __init__(self, located: Located, logarithms: Logarithms) -> None:
        self.located, self.lengths, self.folded = located, logarithms.lengths, logarithms.folded
        self._logarithms: Logarithms | None = logarithms
        key = vk_be(logarithms)
        self.vk = vk.parse(key, error=ParametersError).key
        self.vk_digest = f"sha256:{hashlib.sha256(key).hexdigest()}"

    def as_dict(self) -> dict[str, Any]:
        """The `parameters` object of `--json`."""
        return {
            "kind": self.kind,
            "path": None,
            "digest": None,
            "vk": None,
            "accepted_by_chain": False,
            "made_on": "card",
            "folded": self.folded,
            "vk_digest": self.vk_digest,
        }

    @property
    def doubt(self) -> str:
        """What to do if a proof made with these parameters is false."""
        return "run again, which makes the parameters again; if that does not help, report it"

    def points(self, timer: Timer) -> Load:
        """The source of points for cards; a phase a vector."""
        from cuzk.groth16.setup_cuda import Points

        if self._logarithms is None:
            raise InternalError("parameters that were let go of")
        return Points(self._logarithms, timer)

    @property
    def held_bytes(self) -> int:
        """Host memory that `forget` gives back."""
        return 0 if self._logarithms is None else self._logarithms.nbytes

    @property
    def logarithms(self) -> Logarithms | None:
        """What the points are made from, until `forget`."""
        return self._logarithms

    def forget(self) -> None:
        """Let go of the logarithms, once all cards have their points."""
        self._logarithms = None


def wanted(located: Located, shape: Shape) -> bool:
    """Whether a run on cards makes these parameters there: development ones of a large sector. Others are kept in a file."""
    return located.kind == "development" and development.is_large(shape)


def make(located: Located, shape: Shape, progress: Progress, timer: Timer, folded: bool) -> Resident:
    """The logarithms and the verifying key; the points follow on each card, `folded` as `logarithms` says.

    Raises  ResourceError if the host has too little memory
    """
    refuse_over(memory_need(shape, folded), config.available_memory(), "available memory", f"making parameters of {shape.name}")
    total = lengths(shape)
    progress.line(f"{development.WARNING}: {total.file_bytes / (1 << 30):.2f} GiB of points, made on the card and kept nowhere")
    return Resident(located, Logarithms(shape, development.choose_waste(shape).secret, timer, folded))
