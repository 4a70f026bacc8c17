"""`cuzk verify`: proofs against a C1, or against explicit inputs. True or false; malformed files are errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuzk.commands.choices import Ids, chosen_partitions
from cuzk.errors import MalformedInput, ParametersError, UsageError, recast
from cuzk.field.params import R
from cuzk.files import open_regular
from cuzk.formats import c1, recognise, strict_json, vk
from cuzk.groth16.keys import VerifyingKey
from cuzk.groth16.proof import PROOF_BYTES, Proof, decode_proofs
from cuzk.groth16.verify import verify_many
from cuzk.parameters import identify, policy
from cuzk.progress import Progress

SCALAR_HEX = 64


@dataclass(frozen=True, slots=True)
class Options:
    """What `cuzk verify` was asked for."""

    proof_file: Path | None = None
    c1_file: Path | None = None
    vk_file: Path | None = None
    inputs_file: Path | None = None
    params: str = "auto"
    ids: Ids = field(default_factory=Ids)
    partition: int | None = None
    as_json: bool = False


def verify_command(options: Options) -> dict[str, Any]:
    """Check every proof; `valid` is true if all are, `proofs` says which.

    Raises  MalformedInput (exit 3) for wrong lengths, encodings and inputs; UsageError for options that do not fit together
    """
    progress = Progress()
    progress.announce_compilation()
    if options.c1_file is not None:
        return _against_c1(options, options.c1_file, progress)
    if options.vk_file is None or options.inputs_file is None:
        raise UsageError(
            "nothing to verify against", expected="--c1 C1, or --vk VK with --inputs FILE", hint="see cuzk verify --help"
        )
    key, facts = _key_file(options.vk_file)
    lists, proofs = _explicit(options.inputs_file, options.proof_file)
    return _result(key, proofs, lists, facts)


def _key_file(path: Path) -> tuple[VerifyingKey, dict[str, Any]]:
    """The key in a `.vk` file or at the head of a parameter file, and what is to be said of the file.

    Raises  MalformedInput if it is damaged, as what it means to be
    """
    facts = {"vk": str(path), "vk_kind": "vk"}
    if recognise.kind_of(path) != "params":
        found = vk.read(path)
        return found.key, {**facts, "vk_trailing_bytes": found.trailing_bytes}
    try:
        file = identify.open_whole(path)
        return file.read_vk(), {**facts, "vk_kind": "params", "vk_trailing_bytes": file.trailing}
    except ParametersError as error:
        raise recast(error, MalformedInput) from None


def _against_c1(options: Options, c1_file: Path, progress: Progress) -> dict[str, Any]:
    if options.proof_file is None:
        raise UsageError("no proof given", expected="cuzk verify PROOF --c1 C1")
    if options.inputs_file is not None:
        raise UsageError("--c1 and --inputs exclude each other")
    replica = options.ids.resolve(c1.load(c1_file))
    partitions = chosen_partitions(replica.partitions, options.partition)
    proofs = decode_proofs(options.proof_file.read_bytes(), len(partitions), file=options.proof_file)
    if options.vk_file is not None:
        key, facts = _key_file(options.vk_file)
    else:
        key, path = policy.verifying_key(replica.sector.size, options.params, progress)
        facts = {"vk": str(path), "vk_kind": path.suffix.removeprefix("."), "vk_trailing_bytes": 0}
    lists = [replica.public_inputs(k) for k in partitions]
    return _result(key, proofs, lists, {"ids_checked": replica.ids_checked, **facts})


def _explicit(inputs_file: Path, proof_file: Path | None) -> tuple[list[list[int]], list[Proof]]:
    """Input lists and proofs of the three forms of `--inputs`."""
    try:
        with open_regular(inputs_file) as file:
            content = strict_json.parse(file.read(), inputs_file)
    except OSError as error:
        raise MalformedInput("the inputs cannot be read", file=inputs_file, got=error.strerror) from None
    if isinstance(content, list):
        if proof_file is not None:
            raise UsageError("these inputs carry their proofs: leave PROOF out", file=inputs_file)
        lists = [
            _scalars(_member(e, "public_inputs_le", f"$[{i}]", inputs_file), f"$[{i}].public_inputs_le", inputs_file)
            for i, e in enumerate(content)
        ]
        proofs = [
            _hex(_member(e, "proof", f"$[{i}]", inputs_file), PROOF_BYTES, f"$[{i}].proof", inputs_file)
            for i, e in enumerate(content)
        ]
        if not lists:
            raise MalformedInput("an empty list of proofs", file=inputs_file, where="$")
        return lists, [Proof.decode(data, file=inputs_file) for data in proofs]
    given = _member(content, "public_inputs_le", "$", inputs_file)
    if proof_file is None:
        raise UsageError("no proof given", expected="cuzk verify PROOF --vk VK --inputs FILE")
    nested = isinstance(given, list) and bool(given) and all(isinstance(e, list) for e in given)
    groups = given if nested else [given]
    lists = [
        _scalars(g, f"$.public_inputs_le[{i}]" if nested else "$.public_inputs_le", inputs_file) for i, g in enumerate(groups)
    ]
    return lists, decode_proofs(proof_file.read_bytes(), len(lists), file=proof_file)


def _member(value: Any, key: str, where: str, file: Path) -> Any:
    if not isinstance(value, dict) or key not in value:
        shown = strict_json.shown(value)
        raise MalformedInput("missing key", file=file, where=where, expected=f'an object with "{key}"', got=shown)
    strict_json.refuse_repeated(value, file, where)
    return value[key]


def _hex(value: Any, size: int, where: str, file: Path) -> bytes:
    try:
        data = bytes.fromhex(value)
    except (TypeError, ValueError):
        raise MalformedInput("not hex", file=file, where=where, expected=f"{size} bytes as hex", got=repr(value)[:60]) from None
    if len(data) != size:
        raise MalformedInput("wrong length", file=file, where=where, expected=f"{size} bytes", got=f"{len(data)} bytes")
    return data


def _scalars(value: Any, where: str, file: Path) -> list[int]:
    if not isinstance(value, list):
        raise MalformedInput("not a list", file=file, where=where, expected="public inputs as hex", got=strict_json.shown(value))
    out = []
    for i, word in enumerate(value):
        scalar = int.from_bytes(_hex(word, SCALAR_HEX // 2, f"{where}[{i}]", file), "little")
        if scalar >= R:
            raise MalformedInput("a public input is ≥ r", file=file, where=f"{where}[{i}]", expected="a value below r", got=word)
        out.append(scalar)
    return out


def _result(key: VerifyingKey, proofs: list[Proof], lists: list[list[int]], facts: dict[str, Any]) -> dict[str, Any]:
    try:
        verdicts = verify_many(key, proofs, lists)
    except MalformedInput as error:  # the number of inputs: their values have been looked at
        error.file = facts["vk"]
        raise
    return {"valid": all(verdicts), "proofs": verdicts, **facts}


def verify_text(result: dict[str, Any]) -> str:
    """The result for people."""
    bad = [str(i) for i, ok in enumerate(result["proofs"]) if not ok]
    head = (
        f"true: {len(result['proofs'])} proof(s) verified"
        if result["valid"]
        else f"FALSE: proof(s) {', '.join(bad)} of {len(result['proofs'])}"
    )
    lines = [head]
    if result.get("ids_checked") is False:
        lines.append("ids: not cross-checked (give --miner and --sector)")
    if result.get("vk_trailing_bytes"):
        kind = "parameter" if result["vk_kind"] == "params" else "verifying key"
        lines.append(f"the {kind} file carries {result['vk_trailing_bytes']} trailing bytes")
    return "\n".join(lines)
