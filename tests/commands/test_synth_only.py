"""`cuzk synth-only`: facts of its runs, comparisons, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuzk import jit
from cuzk.circuits import synthesis
from cuzk.circuits.template import Witness
from cuzk.cli import main
from cuzk.commands import synth_only
from cuzk.commands.synth_only import Options
from cuzk.commands.synthesis_runs import Runs, fingerprint, measured
from cuzk.commands.synthesis_text import _counter_lines, text
from cuzk.errors import FalseInput, InternalError, ResourceError, UsageError
from cuzk.formats import c1, c1_write, shapes
from cuzk.formats.c1_layout import COMMITMENTS
from cuzk.progress import Progress
from cuzk.timing import Timer
from cuzk.variants import Settings
from tests.conftest import ROOT, VECTORS

EXAMPLE = ROOT / "cuzk/data/c1-2kib.json"
SIDE_BY_SIDE = VECTORS / "c1/2kib-non-interactive/c1.bincode"  # thirteen partitions


def run(**options: Any) -> dict[str, Any]:
    return synth_only.run(Options(**{"as_json": True, "iterations": 1, **options}), time.perf_counter())


def through_the_command_line(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["synth-only", *map(str, arguments)])
    out = capsys.readouterr()
    return left.value.code, out.out, out.err


def of_rust(case: str, partition: int = 0) -> dict[str, Any]:
    return json.loads((VECTORS / "witness" / f"{case}.json").read_text())["partitions"][partition]


def assert_equal_to_rust(found: dict[str, Any], case: str) -> None:
    wanted = of_rust(case, found["partition"])
    for key in (
        "aux_blake2s",
        "inputs_blake2s",
        "az_blake2s",
        "bz_blake2s",
        "cz_blake2s",
        "zeros",
        "ones",
        "aux",
        "inputs",
        "rows",
    ):
        assert found[key] == wanted[key], key


def test_facts_of_a_run(tmp_path: Path) -> None:
    found = run(
        iterations=3, warmup=0, check=True, digest=True, counters=True, timings=tmp_path / "t.json", trace=tmp_path / "x.json"
    )
    (partition,) = found["partitions"]
    assert_equal_to_rust(partition, "2kib-v1_1")
    assert (partition["partition"], partition["inputs"], partition["aux"], partition["rows"]) == (0, 40, 2685673, 2687921)
    assert partition["checked"] is True
    seconds = partition["seconds"]
    assert seconds["min"] <= seconds["median"] <= seconds["max"] and seconds["n"] == 3
    assert partition["rows_per_second"] == round(2687921 / seconds["median"])
    assert found["bytes_written"] > 3 * 32 * 2687921
    assert 0 < found["share_of_bandwidth"] < 1.5
    assert found["memory"]["measured_peak"] > found["bytes_written"]
    assert found["memory"]["budget"] > found["memory"]["predicted_peak"]
    assert found["counters"]["usage"]["user_seconds"] > 0
    assert set(found["phases"]) >= {"start", "read_c1", "record_shape", "prepare", "witness", "eval_abc", "check", "unaccounted"}
    tree = json.loads((tmp_path / "t.json").read_text())
    assert sum(tree["phases"].values()) == pytest.approx(tree["seconds"], abs=1e-3)
    assert tree["phases"]["unaccounted"] < 0.25 * tree["seconds"]
    assert {t["track"] for t in tree["tracks"]} <= {f"worker_{i}" for i in range(256)}
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    assert {e["ph"] for e in events} == {"M", "X"}
    assert len({e["tid"] for e in events}) == 1 + len(tree["tracks"])


def test_every_setting_gives_what_the_rust_stack_gives() -> None:
    found = run(c1_file=VECTORS / "c1/2kib-v1/c1.json", digest=True, variant="base,lc-layout=csr,presize=off+stream-witness=on")
    assert_equal_to_rust(found["partitions"][0], "2kib-v1")
    names = [v["name"] for v in found["variants"]]
    assert names == ["base", "lc-layout=csr", "presize=off+stream-witness=on"]
    assert all("N = 1; needs at least 6" in v["words"] for v in found["variants"][1:])
    assert "difference" not in found["variants"][0]
    assert found["verdict"].count("not told apart") == 2
    assert "pinned" in found["noise"]["pinning"]


def test_partitions_side_by_side(tmp_path: Path) -> None:
    found = run(c1_file=SIDE_BY_SIDE, partition="3,0,12", jobs=2, digest=True, counters=True, timings=tmp_path / "t.json")
    assert [p["partition"] for p in found["partitions"]] == [3, 0, 12]
    for partition in found["partitions"]:
        assert_equal_to_rust(partition, "2kib-non-interactive")
    assert found["jobs"] == 2
    assert found["seconds_together"]["median"] <= sum(p["seconds"]["median"] for p in found["partitions"]) + 0.1
    tree = json.loads((tmp_path / "t.json").read_text())["tree"]
    side = [c for c in tree["children"] if c["name"] == "side_by_side"][-1]["children"]
    assert {c["track"] for c in side} == {"job_0", "job_1"}
    assert {c["partition"] for c in side} == {0, 3, 12}
    assert {c["name"] for c in side} == {"witness", "eval_abc"}


def test_partitions_one_after_the_other() -> None:
    found = run(c1_file=SIDE_BY_SIDE, partition="1,2,1", jobs=1, opts=("presize=off",), check=True)
    assert [(p["partition"], p["checked"]) for p in found["partitions"]] == [(1, True), (2, True)]
    assert (found["jobs"], found["rows_per_second"]) == (1, round(2 * 2687921 / found["seconds_together"]["median"]))


def test_a_false_c1_is_told_by_the_row() -> None:
    content = c1.load(EXAMPLE)
    shape = shapes.load_or_record(2048, Progress(quiet=True))
    content.vanilla.column_rows[0, 1, 3, 1, 0] ^= 1  # the label of challenge 1's third DRG parent in layer 2
    runs = Runs(shape, content, [0], 1, Timer())
    with pytest.raises(FalseInput, match="challenge_1/drg_parent_2_inclusion") as refused:
        synth_only._look(Options(check=True), runs, {"base": Settings()})
    assert (refused.value.code, refused.value.partition, refused.value.phase) == (4, 0, "check")


def changed(path: Path, name: str, place: tuple[int, ...]) -> Path:
    """The packaged C1 with one bit turned."""
    content = c1.load(EXAMPLE)
    assert content.registered_proof is not None and content.sector_number is not None
    getattr(content.vanilla, name)[place] ^= 1
    raw = c1_write.raw_json(content.registered_proof, content.vanilla, {n: getattr(content, n) for n in COMMITMENTS})
    path.write_bytes(c1_write.wrapper(content.sector_number, content.sector.size, raw))
    return path


def test_a_false_c1_is_refused_and_with_check_told_by_the_row(tmp_path: Path) -> None:
    file = changed(tmp_path / "c1.json", "column_rows", (0, 1, 3, 1, 0))  # the label of challenge 1's third DRG parent in layer 2
    with pytest.raises(FalseInput) as natively:
        run(c1_file=file)
    assert "challenge_1" not in str(natively.value)
    with pytest.raises(FalseInput, match="a row does not hold") as refused:
        run(c1_file=file, check=True)
    assert "challenge_1/drg_parent_2_inclusion/" in str(refused.value.where) and refused.value.file == str(file)


def test_what_no_row_states_stays_false(tmp_path: Path) -> None:
    file = changed(tmp_path / "c1.json", "label_parents", (0, 1, 1, 3, 0))  # the circuit takes it from the parent's column
    with pytest.raises(FalseInput, match="is not the label in that parent's column") as refused:
        run(c1_file=file, check=True)
    assert "every row of the chosen partitions holds" in str(refused.value.hint)


def test_places_of_outputs_are_looked_at_first(tmp_path: Path) -> None:
    file = tmp_path / "c1.json"
    file.write_bytes(EXAMPLE.read_bytes())
    refused = {
        "an input would be overwritten": {"timings": file},
        "does not exist": {"trace": tmp_path / "absent/x.json"},
        "name one file": {"timings": tmp_path / "x.json", "trace": tmp_path / "x.json"},
    }
    for word, places in refused.items():
        with pytest.raises(UsageError, match=word):
            run(c1_file=file, **places)
    assert file.read_bytes() == EXAMPLE.read_bytes() and list(tmp_path.iterdir()) == [file]


def test_settings_that_disagree_fail_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = synthesis.synthesize

    def wrong(shape, prologue, repeated, settings, *rest, **more):
        found = honest(shape, prologue, repeated, settings, *rest, **more)
        if settings.stream_witness:
            found.c[len(found.c) // 2, 0] ^= np.uint64(1)
        return found

    monkeypatch.setattr(synthesis, "synthesize", wrong)
    with pytest.raises(InternalError, match="stream-witness=on and base give different results"):
        run(variant="base,stream-witness=on", iterations=1, warmup=0)


def test_compilation_inside_a_timing_is_an_error() -> None:
    def compile_inside() -> None:
        with measured(None):
            for callback in jit.on_compile:
                callback("kernel")

    with pytest.raises(InternalError, match="compiled inside a timing"):
        compile_inside()
    with measured(None):
        pass


def test_fingerprints_see_every_array() -> None:
    shape = shapes.load_or_record(2048, Progress(quiet=True))
    into = synthesis.buffers(shape)
    into.overwrite()
    result = synthesis.Synthesis(Witness(*into.values), *into.out)
    seen = {fingerprint(result)}
    for array in (*into.values, *into.out):
        array.reshape(-1)[-1] ^= array.dtype.type(1)
        seen.add(fingerprint(result))
    assert len(seen) == 7


def test_memory_is_predicted_and_refused_with_the_minimum() -> None:
    with pytest.raises(ResourceError) as refused:
        run(memory_budget="100M")
    minimum = int(str(refused.value.expected).split()[2].replace(",", ""))
    with pytest.raises(ResourceError):
        run(memory_budget=str(minimum - 1))
    found = run(memory_budget=str(minimum))
    assert found["memory"]["predicted_peak"] == minimum
    with pytest.raises(ResourceError, match="not enough") as explicit:
        run(memory_budget=str(minimum), opts=("lc-layout=csr",))
    assert "lc-layout=csr" in str(explicit.value.hint)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"opts": ("parallel-b-g2=on",)}, "does not touch synthesis"),
        ({"opts": ("pinned=on",)}, "does not touch synthesis"),
        ({"variant": "base,msm-window=one"}, "does not touch synthesis"),
        ({"variant": "base,presize=off+presize=on"}, "set twice"),
        ({"opts": ("presize=off", "presize=on")}, "set twice"),
        ({"partition": "1"}, "no such partition"),
        ({"partition": "x"}, "no such partition"),
        ({"size": 2048, "c1_file": EXAMPLE}, "its own size"),
        ({"memory_budget": "much"}, "not a number of bytes"),
    ],
)
def test_what_is_refused(options: dict[str, Any], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        run(**options)


def test_fabricated_size_and_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = through_the_command_line(
        capsys, "--size", "2KiB", "--iterations", "2", "--check", "--variant", "base,presize=off"
    )
    assert code == 0
    assert "made up, 2KiB" in out and "every row holds" in out and "of the" in out and "measured in this run" in out
    assert "presize=off: not told apart from base at N = 2" in out
    assert "the machine was" in out
    assert "predicted peak" in err and "unaccounted" in err and "in the Rust cuzk" in err


def test_json_is_one_object_and_errors_too(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = through_the_command_line(capsys, "--iterations", "1", "--json", EXAMPLE)
    assert code == 0
    assert json.loads(out)["partitions"][0]["seconds"]["n"] == 1
    code, out, _ = through_the_command_line(capsys, "--memory-budget", "1M", "--json")
    assert code == json.loads(out)["error"]["code"] == 7
    assert through_the_command_line(capsys, "--iterations", "0")[0] == 2
    assert through_the_command_line(capsys, "--jobs", "0")[0] == 2


def test_settings_are_in_every_result(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    places = {"timings": tmp_path / "t.json", "trace": tmp_path / "x.json"}
    found = run(opts=("lc-layout=csr",), variant="base,stream-witness=on,base", iterations=6, warmup=0, **places)
    assert found["settings"] == Settings(lc_layout="csr").as_dict()
    base, other, again = found["variants"]
    assert base["settings"] == again["settings"] == found["settings"]
    assert other["settings"] == Settings(lc_layout="csr", stream_witness=True).as_dict()
    assert (base["name"], again["name"], again["equal_to"]) == ("base", "base (2)", "base")
    assert set(base["phases"]) == {"witness", "eval_abc"} and set(other["phases"]) == {"stream_abc"}
    for v in found["variants"]:
        assert sum(v["phases"].values()) == pytest.approx(v["seconds"]["median"], rel=0.3)
    shown = text(found)
    assert "settings: lc-layout=csr, the others by default" in shown
    assert "base (lc-layout=csr): median" in shown and "stream-witness=on (lc-layout=csr stream-witness=on): median" in shown
    assert "base (2) and base are equal settings: an A/A test" in shown
    assert "differences are medians of the differences within rounds" in shown
    table = shown[shown.index("medians of phases") :].splitlines()
    assert table[1].split() == ["phase", "base", "stream-witness=on", "base", "(2)"]
    assert {line.split()[0]: line.split().count("–") for line in table[2:5]} == {"witness": 1, "eval_abc": 1, "stream_abc": 2}
    tree = json.loads((tmp_path / "t.json").read_text())
    assert tree["settings"] == found["settings"] and set(tree["settings_compared"]) == {"base", "stream-witness=on", "base (2)"}
    assert {c["setting"] for c in tree["tree"]["children"] if c["name"] == "stream_abc"} == {"stream-witness=on"}
    trace = json.loads((tmp_path / "x.json").read_text())
    assert trace["otherData"]["settings"] == found["settings"]
    assert {e["args"].get("setting") for e in trace["traceEvents"] if e["name"] == "eval_abc"} == {"base", "base (2)"}


def test_the_first_touch_is_named_beside_the_times() -> None:
    found = run(iterations=1, warmup=0)
    assert found["settings"] == Settings().as_dict() and "settings: all switches by default" in text(found)
    touch = found["first_touch"]
    assert touch["in_the_times"] is False and touch["n"] == 1 and touch["seconds"] > 0
    assert f"first time, {touch['seconds']:.4f} s in this run (phase presize)" in text(found)
    within = run(iterations=1, warmup=0, opts=("presize=off",))
    assert within["first_touch"] == {"in_the_times": True, "seconds": None, "n": 0}
    assert "the times include making the arrays" in text(within)


@pytest.mark.filterwarnings("always")
def test_jobs_beyond_the_partitions_and_budgets_beyond_the_machine_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = through_the_command_line(capsys, "--iterations", "1", "--jobs", "99", "--memory-budget", "900T")
    assert code == 0
    assert "--jobs 99: there are 1 partition(s), so 1 at a time" in err
    assert "warning: --memory-budget 900T is more than the" in err


def test_lines_while_it_runs_are_one_a_phase() -> None:
    arguments = ["synth-only", "--iterations", "2", "--variant", "base,stream-witness=on"]
    environment = {**os.environ, "CUZK_TIMING": "1"}
    done = subprocess.run([sys.executable, "-m", "cuzk", *arguments], capture_output=True, text=True, cwd=ROOT, env=environment)
    lines = [line.split() for line in done.stderr.splitlines() if line.startswith("timing ")]
    paths = [words[1] for words in lines]
    assert paths[0] == "start" and paths.count("witness") == 3 and paths.count("warm_up/witness") == 1 and "prepare" in paths
    assert paths.count("stream_abc") == 3 and not [p for p in paths if p.startswith("prepare/")]
    assert sum(float(words[2]) for words in lines if "/" not in words[1]) <= float(lines[-1][5]) + float(lines[-1][2]) + 1e-3


def test_counters_are_printed_once_a_setting_and_say_what_they_are() -> None:
    found = run(iterations=1, warmup=0, counters=True, variant="base,stream-witness=on")
    assert text(found).count("user_seconds ") == 2
    alone = {
        **found["counters"],
        "values": {"cycles": 7},
        "user_mode_only": ["cycles"],
        "refused": {"page_faults": "EACCES: why"},
    }
    lines = _counter_lines(alone, "counters")
    assert any(line.split() == ["cycles", "7", "(user", "mode", "only)"] for line in lines)
    assert "  not counted: page_faults: EACCES: why" in lines
