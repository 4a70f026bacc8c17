"""`cuzk fixture`: a fabricated C1 as a file in one of its forms, and the facts that a verifier of its proof needs."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from cuzk.errors import UsageError
from cuzk.files import check_outputs, write_atomically
from cuzk.fixture import fabricate
from cuzk.formats import c1_resolve, c1_write
from cuzk.formats.c1 import C1
from cuzk.formats.c1_layout import COMMITMENTS
from cuzk.progress import Progress
from cuzk.seal import sector
from cuzk.seal.replica import Replica, prover_id
from cuzk.seal.sector import Sector

# Of the bar, beside `fabricate.SHARE`.
ENCODING_SHARE, WRITING_SHARE = 60.0, 5.0
FORMS = {"W": "wrapper", "J": "json", "B": "bincode"}


def form_of(size: Sector, asked: str | None) -> str:
    """W, J or B: the one asked for, else W where the size has a registered proof and B where it has none.

    Raises  UsageError for W and J of a size without a registered proof, whose name these forms must hold
    """
    if fabricate.registered_proof(size):
        return asked or "W"
    if asked in ("W", "J"):
        hint = "leave --form out, or give --form B"
        raise UsageError(f"no form {asked} of a {size.name} C1: no registered proof has this size", where="--form", hint=hint)
    return "B"


def encode(made: C1, form: str) -> bytes:
    """A fabricated C1 as the bytes of a file."""
    commitments = {name: getattr(made, name) for name in COMMITMENTS}
    if made.registered_proof is None or form == "B":
        return c1_write.bincode(made.vanilla, commitments)
    raw = c1_write.raw_json(made.registered_proof, made.vanilla, commitments)
    return c1_write.wrapper(made.sector_number or 0, made.sector.size, raw) if form == "W" else raw


def verifiers_facts(facts: Replica) -> dict[str, Any]:
    """Everything that a verifier must know, under the keys that the Rust stack's test cases have."""
    out: dict[str, Any] = {
        "api_version": facts.api_version,
        **{name: getattr(facts, name).hex() for name in COMMITMENTS},
        "miner_id": facts.miner,
        "partitions": facts.partitions,
        "porep_id": facts.porep_id.hex(),
        "prover_id": prover_id(facts.miner or 0).hex(),
        "public_inputs_le": [
            [value.to_bytes(32, "little").hex() for value in facts.public_inputs(k)] for k in range(facts.partitions)
        ],
        "sector_number": facts.sector_number,
        "sector_size": facts.sector.size,
    }
    if facts.registered_proof:
        out["registered_proof"] = facts.registered_proof
    else:
        out["porep_config"] = {
            "api_features": [],
            "api_version": f"V{facts.api_version.replace('.', '_')}",
            "partitions": facts.partitions,
            "porep_id": list(facts.porep_id),
            "sector_size": facts.sector.size,
        }
        out["registered_suffix"], out["version"] = "V1_1", "v1_1"
    return dict(sorted(out.items()))


def run(
    size: int, output: Path, form: str | None, miner: int, sector_number: int, seed: int, expected: Path | None
) -> dict[str, Any]:
    """Make the C1 and write it, and with `expected` the verifier's facts.

    Raises  UsageError for a form that the size does not have, ids out of range, and places that do not exist; ResourceError
            where a file cannot be written
    """
    began = time.perf_counter()
    its_sector = sector.parse(size)
    form = form_of(its_sector, form)
    check_outputs({"-o": output, "--expected": expected}, [])
    progress = Progress()
    progress.announce_compilation()
    with progress.bar("labels and columns", fabricate.SHARE + ENCODING_SHARE + WRITING_SHARE):
        made = fabricate.fabricate(its_sector, miner, sector_number, seed, progress)
        fabricated = time.perf_counter()
        facts = c1_resolve.resolve(
            made, miner, sector_number, porep_id=fabricate.porep_id(its_sector), api_version=fabricate.API_VERSION
        )
        progress.label("encoding")
        data = encode(made, form)
        progress.advance(ENCODING_SHARE)
        write_atomically(output, data)
        if expected is not None:
            write_atomically(expected, json.dumps(verifiers_facts(facts), indent=2).encode())
        progress.advance(WRITING_SHARE)
    return {
        "output": str(output),
        "form": form,
        "bytes": len(data),
        "sector_size": its_sector.size,
        "registered_proof": facts.registered_proof,
        "porep_id": facts.porep_id.hex(),
        "api_version": facts.api_version,
        "miner": miner,
        "sector": sector_number,
        "seed": seed,
        "ids": "the fixture's own",
        "partitions": facts.partitions,
        "challenges_per_partition": its_sector.challenges,
        "commitments": {name: getattr(facts, name).hex() for name in COMMITMENTS},
        "expected": None if expected is None else str(expected),
        "seconds": {"fabricate": round(fabricated - began, 3), "total": round(time.perf_counter() - began, 3)},
    }


def prove_command(result: dict[str, Any]) -> str:
    """How to prove the file: the options that its form needs."""
    words = ["cuzk prove", result["output"], "-o proof.bin", f"--miner {result['miner']}"]
    if result["form"] != "W":
        words.append(f"--sector {result['sector']}")
    if result["form"] == "B" and result["registered_proof"]:
        words.append(f"--registered-proof {result['registered_proof']}")
    elif result["form"] == "B":
        words.append(f"--porep-id {result['porep_id']} --api-version {result['api_version']}")
    return " ".join(words)


def text(result: dict[str, Any]) -> str:
    """The result for people."""
    proof = result["registered_proof"] or f"no registered proof; porep_id {result['porep_id']}, API {result['api_version']}"
    lines = [
        f"{result['output']}: form {result['form']} ({FORMS[result['form']]}), {result['bytes']:,} bytes, "
        f"{result['seconds']['total']} s",
        f"  {proof}, {result['partitions']} partition(s) of {result['challenges_per_partition']} challenges",
        f"  the fixture's own ids: miner {result['miner']}, sector {result['sector']}, seed {result['seed']}",
        *(f"  {name:<11} {value}" for name, value in result["commitments"].items()),
    ]
    if result["expected"]:
        lines.append(f"  verifier's facts in {result['expected']}")
    return "\n".join([*lines, f"  to prove it: {prove_command(result)}"])
