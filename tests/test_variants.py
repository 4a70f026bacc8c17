"""Switches: names, values, what they touch, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cuzk.commands import variants as variants_command
from cuzk.errors import DeviceError, UsageError
from cuzk.variants import PROOF, SWITCHES, SYNTHESIS, Settings, apply, equal_words, equals, listing, measurements, parse_variants
from scripts import measure_variants
from tests.conftest import ROOT


def test_defaults_are_values_of_their_switches() -> None:
    for switch in SWITCHES.values():
        assert switch.parse(switch.default) is not None, switch.name
        assert switch.meaning and switch.reason and switch.touches
    assert apply(Settings(), [f"{k}={v}" for k, v in Settings().as_dict().items()], PROOF, device="cuda") == Settings()
    assert [one["name"] for one in listing()] == list(SWITCHES)


def test_defaults_are_measured() -> None:
    for one in listing():
        assert one["measured"] or one["unmeasured"], one["name"]
        for measured in one["measured"]:
            recorded = json.loads((ROOT / measured["file"]).read_text())["comparisons"]
            ((whole, its),) = (
                (comparison, v)
                for comparison in recorded
                if comparison["of"] == measured["of"]
                for v in comparison["variants"][1:]
                if v["name"] == f"{one['name']}={measured['value']}"
            )
            assert measured["words"] == its["words"] and measured["busy"] == whole["noise"]["busy"]
            assert SWITCHES[one["name"]].parse(measured["value"]) is not None


def test_no_default_contradicts_its_measurement_without_a_reason() -> None:
    for one in listing():
        if any(measured["verdict"] == "faster" for measured in one["measured"]):
            assert len(one["nevertheless"]) > 40, one["name"]


def test_measurements_are_shown_with_machine_and_disturbance() -> None:
    shown = variants_command.text(variants_command.run())
    assert shown.count("[default: ") == len(SWITCHES) and "no run yet" not in shown
    measured = {"of": "x", "words": "words", "machine": "here", "file": "f.json", "value": "on", "verdict": "slower"}
    switch = {"name": "a", "values": "on | off", "default": "off", "touches": ["proof"], "meaning": "M.", "reason": "R."}
    entries = [{**measured, "busy": True}, {**measured, "busy": False, "machine": "there"}]
    text = variants_command.text({"switches": [{**switch, "measured": entries, "nevertheless": "N."}]})
    assert "x: words; the machine was busy [1]" in text and "x: words [2]" in text and "nevertheless: N." in text
    assert "[1] measured on here: f.json\n[2] measured on there: f.json" in text


def test_switches_one_at_a_time() -> None:
    base = Settings()
    assert apply(base, ["lc-layout=csr"], SYNTHESIS).lc_layout == "csr"
    assert apply(base, ["PRESIZE = off"], SYNTHESIS).presize is False
    assert apply(base, ["msm-window=14"], PROOF).msm_window == 14
    assert apply(base, ["msm-window=one"], PROOF).msm_window == "one"
    both = apply(base, ["presize=off", "stream-witness=on"], SYNTHESIS)
    assert (both.presize, both.stream_witness) == (False, True)
    assert both.changed() == ["presize=off", "stream-witness=on"] and both.words() == "presize=off stream-witness=on"
    assert base.changed() == [] and base.words() == "all switches by default"


@pytest.mark.parametrize("texts", [["presize=off", "presize=on"], ["presize=off", "PRESIZE=off"]])
def test_a_switch_is_set_once(texts: list[str]) -> None:
    with pytest.raises(UsageError, match="set twice"):
        apply(Settings(), texts, SYNTHESIS)
    with pytest.raises(UsageError, match="set twice") as refused:
        parse_variants(f"base,{'+'.join(texts)}", Settings(), SYNTHESIS)
    assert refused.value.where == "--variant"


def test_equal_settings_are_told_apart_by_name_and_said_to_be_equal() -> None:
    found = parse_variants("base,base,presize=on,presize=off,base", Settings(), SYNTHESIS)
    assert list(found) == ["base", "base (2)", "presize=on", "presize=off", "base (3)"]
    assert equals(found) == {"base (2)": "base", "presize=on": "base", "base (3)": "base"}
    assert "A/A test" in equal_words("base (2)", "base")


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


@pytest.mark.parametrize("text", ["", "base,,presize=off", "presize", "base+presize=off", "base,pinned=on"])
def test_variants_that_are_none(text: str) -> None:
    with pytest.raises(UsageError):
        parse_variants(text, Settings(), SYNTHESIS)


def test_a_measurement_in_pieces_replaces_what_it_measures_again() -> None:
    def found(of: str, *names: str) -> dict[str, Any]:
        return {"of": of, "variants": [{"name": name} for name in ("base", *names)]}

    result: dict[str, Any] = {}
    for one in (found("proof", "a=1", "b=1"), found("synthesis", "a=1"), found("proof", "b=1", "c=1"), found("synthesis", "a=1")):
        measure_variants.record(result, one)
    kept = [(one["of"], [v["name"] for v in one["variants"]]) for one in result["comparisons"]]
    assert kept == [("proof", ["base", "a=1"]), ("proof", ["base", "b=1", "c=1"]), ("synthesis", ["base", "a=1"])]


def test_recorded_verdicts_are_those_shown() -> None:
    files = [measure_variants.TARGET, measure_variants.CARD]
    assert measure_variants.verdicts(files) == measurements()
