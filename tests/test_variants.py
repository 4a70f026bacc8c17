"""Switches: names, values, what they touch, and what is refused."""

from __future__ import annotations

import json

import pytest

from cuzk.errors import DeviceError, UsageError
from cuzk.variants import PROOF, SWITCHES, SYNTHESIS, Settings, apply, listing, measurements, parse_variants
from tests.conftest import ROOT


def test_defaults_are_values_of_their_switches() -> None:
    for switch in SWITCHES.values():
        assert switch.parse(switch.default) is not None, switch.name
        assert switch.meaning and switch.reason and switch.touches
    assert apply(Settings(), [f"{k}={v}" for k, v in Settings().as_dict().items()], PROOF, device="cuda") == Settings()
    assert [one["name"] for one in listing()] == list(SWITCHES)


def test_defaults_are_measured() -> None:
    recorded = json.loads((ROOT / measurements()["file"]).read_text())
    words = {v["words"] for part in recorded.values() if isinstance(part, dict) for v in part.get("variants", []) if "words" in v}
    for one in listing():
        assert one["measured"] or SYNTHESIS not in one["touches"], one["name"]
        for measured in one["measured"]:
            assert measured["words"] in words and measured["words"].startswith(f"{one['name']}={measured['value']}: ")
            assert SWITCHES[one["name"]].parse(measured["value"]) is not None


def test_switches_one_at_a_time() -> None:
    base = Settings()
    assert apply(base, ["lc-layout=csr"], SYNTHESIS).lc_layout == "csr"
    assert apply(base, ["PRESIZE = off"], SYNTHESIS).presize is False
    assert apply(base, ["msm-window=14"], PROOF).msm_window == 14
    assert apply(base, ["msm-window=one"], PROOF).msm_window == "one"
    both = apply(base, ["presize=off", "stream-witness=on", "presize=on"], SYNTHESIS)
    assert (both.presize, both.stream_witness) == (True, True)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("fast=on", "unknown switch"),
        ("", "unknown switch"),
        ("presize", "no such value"),
        ("presize=maybe", "no such value"),
        ("lc-layout=", "no such value"),
        ("msm-window=1", "no such value"),
        ("msm-window=20", "no such value"),
        ("msm-window=-3", "no such value"),
        ("msm-window=²", "no such value"),
    ],
)
def test_unknown_names_and_values(text: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        apply(Settings(), [text], PROOF)


@pytest.mark.parametrize("text", ["parallel-b-g2=on", "msm-window=one", "pinned=on"])
def test_switches_that_do_not_touch_synthesis(text: str) -> None:
    with pytest.raises(UsageError, match="does not touch synthesis") as refused:
        apply(Settings(), [text], SYNTHESIS)
    assert "cuzk prove" in str(refused.value)


def test_pinned_needs_a_device() -> None:
    for value in ("on", "off"):
        with pytest.raises(DeviceError, match="copies to a CUDA device") as refused:
            apply(Settings(), [f"pinned={value}"], PROOF, device="cpu")
        assert refused.value.code == 6 and "on the CPU" in str(refused.value)
    assert not apply(Settings(), ["pinned=off"], PROOF, device="cuda").pinned


def test_variants_of_a_command_line() -> None:
    found = parse_variants("base,lc-layout=csr, presize=off+stream-witness=on", Settings(), SYNTHESIS)
    assert list(found) == ["base", "lc-layout=csr", "presize=off+stream-witness=on"]
    assert found["base"] == Settings()
    last = found["presize=off+stream-witness=on"]
    assert (last.presize, last.stream_witness, last.lc_layout) == (False, True, "template")
    everywhere = parse_variants("base,presize=off", apply(Settings(), ["lc-layout=csr"], SYNTHESIS), SYNTHESIS)
    assert [s.lc_layout for s in everywhere.values()] == ["csr", "csr"]


@pytest.mark.parametrize("text", ["", "base,,presize=off", "base,base", "presize", "base+presize=off", "base,pinned=on"])
def test_variants_that_are_none(text: str) -> None:
    with pytest.raises(UsageError):
        parse_variants(text, Settings(), SYNTHESIS)
