"""Named switches: ways of doing the same work that can be turned one at a time and measured against each other.

No switch changes a result. Each says what it touches; a command refuses one that does not touch what it runs. The measurements
behind the defaults are a file, which `scripts/measure_variants.py` writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from importlib import resources
from typing import Any

from cuzk.errors import DeviceError, UsageError

SYNTHESIS, PROOF = "synthesis", "proof"
WIDEST_WINDOW = 19
MEASURED = "variants.json"


@dataclass(frozen=True, slots=True)
class Settings:
    """A value for every switch."""

    lc_layout: str = "template"
    presize: bool = True
    pinned: bool = True  # nothing is copied on a CPU
    parallel_b_g2: bool = False
    msm_window: int | str = "per-msm"
    stream_witness: bool = False
    fold_c: bool = True  # files hold their points as they are

    def as_dict(self, on_cards: bool = True) -> dict[str, str]:
        """Name and value as on the command line; without those that only cards have, if it is not about cards."""
        return {name: _word(getattr(self, _field(name))) for name, switch in SWITCHES.items() if on_cards or not switch.cuda_only}

    def changed(self) -> list[str]:
        """`NAME=VALUE` of the switches that are not as by default."""
        usual = DEFAULTS.as_dict()
        return [f"{name}={value}" for name, value in self.as_dict().items() if value != usual[name]]

    def words(self) -> str:
        """The same in words."""
        return " ".join(self.changed()) or "all switches by default"


DEFAULTS = Settings()


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch, as `cuzk variants` shows it. `parse` gives None for a value that the switch does not have."""

    name: str
    values: str
    parse: Callable[[str], Any]
    touches: tuple[str, ...]
    about: str
    meaning: str
    reason: str  # why the default may be expected to win; whether it does is measured
    cuda_only: bool = False
    unmeasured: str = ""  # why there may be no measurement
    nevertheless: str = ""  # why it stays the default where something else was measured as faster

    @property
    def default(self) -> str:
        """The value where nothing is said."""
        return _word(getattr(DEFAULTS, _field(self.name)))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        keys = ("name", "values", "default", "touches", "meaning", "reason", "unmeasured", "nevertheless")
        return {key: value for key in keys if (value := getattr(self, key))}


def _field(name: str) -> str:
    return name.replace("-", "_")


def _word(value: Any) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def _on_off(text: str) -> bool | None:
    return {"on": True, "off": False}.get(text)


def _one_of(*words: str) -> Callable[[str], str | None]:
    return lambda text: text if text in words else None


def _window(text: str) -> int | str | None:
    if text in ("per-msm", "one"):
        return text
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 and 2 <= int(text) <= WIDEST_WINDOW else None


SWITCHES = {
    s.name: s
    for s in (
        Switch(
            "lc-layout",
            "template | csr",
            _one_of("template", "csr"),
            (SYNTHESIS, PROOF),
            "the rows",
            "How linear combinations are held: each gadget's once, placed by offsets, or every row of the circuit by itself.",
            "Explicit rows are read from memory once each, the template's stay in the cache.",
        ),
        Switch(
            "presize",
            "on | off",
            _on_off,
            (SYNTHESIS, PROOF),
            "memory",
            "Arrays of the witness and of A·z, B·z, C·z are made and touched up front and used again, or made as filled.",
            "Memory that a process touches for the first time costs more than what is written to it.",
        ),
        Switch(
            "pinned",
            "on | off",
            _on_off,
            (PROOF,),
            "copies to a CUDA device",
            "Page-locked host buffers for what the CPU synthesizes for a device (CUDA only; cards that synthesize need none).",
            "A device copies from page-locked memory directly, and while the host goes on.",
            cuda_only=True,
            unmeasured="takes a card: python scripts/device_measure_variants.py OUT.json compares on and off",
        ),
        Switch(
            "parallel-b-g2",
            "on | off",
            _on_off,
            (PROOF,),
            "the order of the sums of points",
            "The sum over G2 runs beside the sums over G1, or after them.",
            "Each sum already has work for all CPUs.",
        ),
        Switch(
            "msm-window",
            f"per-msm | one | 2 … {WIDEST_WINDOW}",
            _window,
            (PROOF,),
            "sums of points",
            "Window width of multi-exponentiations: for each by its number of points, that of the largest for all, or a number.",
            "Sums differ in their number of points, and the best width with it.",
        ),
        Switch(
            "stream-witness",
            "on | off",
            _on_off,
            (SYNTHESIS, PROOF),
            "the order of witness and rows",
            "Rows are written block by block, a challenge's as soon as its witness is there, or all after the whole witness. "
            "Beside cards, which synthesize by themselves, on leaves it to the CPU.",
            "Blocks are whole challenges: rows are divided among all CPUs, challenges only among as many as there are of them.",
            nevertheless="those measurements are of two CPUs, which share the challenges of a partition evenly. With more "
            "CPUs than challenges (2 a partition in test sizes, 18 at 32 GiB) the others would wait, and beside cards it would "
            "leave to the CPU what cards do sooner.",
        ),
        Switch(
            "fold-c",
            "on | off",
            _on_off,
            (PROOF,),
            "parameters that are made on a CUDA device",
            "Parameters made on a card take C·z into L and h by its values on the coset, or are those of a file (CUDA only).",
            "Of seven transforms a proof four are left.",
            cuda_only=True,
            unmeasured="takes a card: python scripts/device_measure_variants.py OUT.json --switch fold-c",
        ),
    )
}
assert {_field(name) for name in SWITCHES} == {f.name for f in fields(Settings)}


def apply(settings: Settings, texts: Iterable[str], touching: str, where: str = "--opt", device: str = "cpu") -> Settings:
    """Settings after `NAME=VALUE` texts, for a command that runs `touching`.

    Raises  UsageError for an unknown name or value, a switch that is named twice, or one that does not touch this; DeviceError
            for one that only a device has
    """
    seen: set[str] = set()
    for text in texts:
        name, sign, value = text.partition("=")
        name, value = name.strip().lower(), value.strip().lower()
        switch = SWITCHES.get(name)
        if switch is None:
            expected = ", ".join(SWITCHES)
            raise UsageError(
                "unknown switch", where=where, expected=expected, got=ascii(text)[:80], hint="cuzk variants lists them"
            )
        if name in seen:
            hint = "say it once" if where == "--opt" else "one value a setting; commas stand between settings"
            raise UsageError("a switch is set twice", where=where, expected=f"{name} once", got=ascii(text)[:80], hint=hint)
        seen.add(name)
        parsed = switch.parse(value) if sign else None
        if parsed is None:
            raise UsageError("no such value of a switch", where=where, expected=f"{name}={switch.values}", got=ascii(text)[:80])
        if touching not in switch.touches:
            raise UsageError(
                f"{name} does not touch {touching}: it is about {switch.about}",
                where=where,
                expected=", ".join(s.name for s in SWITCHES.values() if touching in s.touches),
                got=ascii(text)[:80],
                hint="use it with cuzk prove",
            )
        if switch.cuda_only and device == "cpu":
            hint = f"leave {name} out, or prove on a CUDA device"
            raise DeviceError(f"{name} is about {switch.about}", where=where, got=f"{ascii(text)[:40]} on the CPU", hint=hint)
        settings = replace(settings, **{_field(name): parsed})
    return settings


def parse_variants(text: str, base: Settings, touching: str, device: str = "cpu") -> dict[str, Settings]:
    """`base,lc-layout=csr,presize=off+stream-witness=on`: settings to compare by their texts; commas between, plus inside one.

    A text that occurs again gets a number, so that a setting can be compared with itself: `base,base` is `base`, `base (2)`.

    Raises  UsageError for one that is empty; otherwise as `apply`
    """
    found: dict[str, Settings] = {}
    for part in text.split(","):
        name = part.strip()
        if not name:
            raise UsageError("a setting is empty", where="--variant", expected="base,NAME=VALUE,…", got=ascii(text)[:80])
        settings = apply(base, () if name == "base" else name.split("+"), touching, "--variant", device)
        same = sum(other == name or other.startswith(f"{name} (") for other in found)
        found[f"{name} ({same + 1})" if same else name] = settings
    return found


def equals(chosen: dict[str, Settings]) -> dict[str, str]:
    """Settings that are those of an earlier one once defaults are filled in, with that one's name."""
    first: dict[Settings, str] = {}
    for name, settings in chosen.items():
        first.setdefault(settings, name)
    return {name: first[settings] for name, settings in chosen.items() if first[settings] != name}


def equal_words(name: str, other: str) -> str:
    """What to say of two such settings."""
    return f"{name} and {other} are equal settings: an A/A test, whose verdict says what chance does"


def measurements() -> dict[str, Any]:
    """What was measured of every switch against its default, on which machine, and whether that was busy meanwhile."""
    found: dict[str, Any] = json.loads((resources.files("cuzk") / "data" / MEASURED).read_text())
    return found


def listing() -> list[dict[str, Any]]:
    """All switches with their measurements, for JSON."""
    of = measurements()["switches"]
    return [{**switch.as_dict(), "measured": of.get(switch.name, [])} for switch in SWITCHES.values()]
