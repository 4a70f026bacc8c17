"""Measurements of cards are taken in with the commit that they are of, and the page says it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cuzk import variants
from cuzk.bench import cuda_measure, machine
from cuzk.msm import pippenger
from scripts import device_report, make_performance, performance_card, performance_figures, performance_parts, take_measurement
from tests.conftest import ROOT

CHECK = {"passed": True, "command": "scripts/x.py /root/out/x.json", "checks": [{"what": "taken / predicted, 1/n", "times": 2}]}


def git(folder: Path, *arguments: str) -> str:
    names = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small repository of two commits with a package; its second commit is another source."""
    root = tmp_path / "checkout"
    (root / "cuzk/field").mkdir(parents=True)
    (root / "docs/measurements").mkdir(parents=True)
    git(root, "init", "-q")
    for text in ("a = 1\n", "a = 2\n"):
        (root / "cuzk/field/fp.py").write_text(text)
        (root / "cuzk/__init__.py").write_text("")
        git(root, "add", "-A")
        git(root, "commit", "-qm", text)
    for module in (machine, take_measurement):
        monkeypatch.setattr(module, "ROOT", root)
    monkeypatch.setattr(take_measurement, "TARGET", root / "docs/measurements")
    for cached in (take_measurement.sources_of, take_measurement.commit_named, take_measurement._content):
        cached.cache_clear()
    yield root
    for cached in (take_measurement.sources_of, take_measurement.commit_named, take_measurement._content):
        cached.cache_clear()


def taken(checkout: Path, found: dict[str, Any], *words: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    path = checkout.parent / "x.json"
    path.write_text(json.dumps(found))
    monkeypatch.setattr("sys.argv", ["take_measurement.py", str(path), *words])
    take_measurement.main()
    return json.loads((checkout / "docs/measurements/x.json").read_text())


def test_digest_is_the_same_with_git_and_without(checkout: Path) -> None:
    here, head = machine.sources(), git(checkout, "rev-parse", "HEAD")
    assert here == take_measurement.sources_of(head) != take_measurement.sources_of(git(checkout, "rev-parse", "HEAD~"))
    (checkout / "cuzk/__pycache__").mkdir()
    (checkout / "cuzk/__pycache__/fp.pyc").write_bytes(b"x")
    (checkout / ".git").rename(checkout / "elsewhere")
    assert machine.sources() == here and machine.commit() is None
    (checkout / "cuzk/field/fp.py").rename(checkout / "cuzk/field/fq.py")
    assert machine.sources() != here


def test_an_installed_package_names_the_commit_of_a_checkout_with_its_sources(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "installed"
    shutil.copytree(checkout / "cuzk", installed / "cuzk")
    monkeypatch.setattr(machine, "ROOT", installed)
    monkeypatch.chdir(tmp_path)
    assert machine.commit() is None
    monkeypatch.chdir(checkout)
    assert machine.commit() == git(checkout, "rev-parse", "HEAD")
    (checkout / "cuzk/field/fp.py").write_text("a = 4\n")
    assert machine.commit() is None


def test_a_run_records_its_commit_and_sources(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_measure, "machine", dict)
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    (checkout / "cuzk/field/fp.py").write_text("a = 3\n")
    out = checkout / "out.json"
    with device_report.recorded({}, out):
        pass
    found = json.loads(out.read_text())
    assert found["commit"] == git(checkout, "rev-parse", "HEAD") + "+"
    assert found["sources"] == machine.sources() and found["launch_blocking"] is True


def test_the_commit_is_found_and_folders_go(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head, before = git(checkout, "rev-parse", "HEAD"), git(checkout, "rev-parse", "HEAD~")
    child = {"command": "/work/main/scripts/x.py /tmp/t1/blocking.json --cases fixture:32GiB", "phases": {"srs_load/points": 1}}
    found = CHECK | {"sources": take_measurement.sources_of(before), "commit": None, "blocking": child}
    got = taken(checkout, found, monkeypatch=monkeypatch)
    assert got["commit"] == before and got["command"] == "scripts/x.py x.json"
    assert got["blocking"]["command"] == "scripts/x.py blocking.json --cases fixture:32GiB"
    assert got["checks"] == CHECK["checks"] and got["blocking"]["phases"] == child["phases"]
    # Of changed files that were committed after: the commit that has them.
    got = taken(checkout, found | {"sources": machine.sources(), "commit": f"{before}+"}, monkeypatch=monkeypatch)
    assert got["commit"] == head
    with pytest.raises(SystemExit, match=r"commit HEAD has other sources: expected \w{64}, got \w{64}"):
        taken(checkout, found, "--commit", "HEAD", monkeypatch=monkeypatch)


def test_what_is_not_taken(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    row = {"name": "ntt 2^20", "result": {"holds": False}}
    for found, words, message in (
        (CHECK | {"passed": False, "error": "SystemExit: FAILED"}, [], "FAILED"),
        (CHECK | {"sources": "0" * 64}, [], "other sources than 0000"),
        (CHECK, [], "neither a commit nor its sources"),
        (CHECK | {"commit": f"{head}+"}, [], "neither a commit nor its sources"),
        (CHECK, ["--commit", "nosuch"], "nosuch"),
        (CHECK | {"commit": head}, ["--commit", "HEAD~"], "not of HEAD~"),
        ({"subjects": ["ntt"], "rows": [row], "machine": {}}, [], "ntt 2\\^20: a wrong result"),
    ):
        with pytest.raises(SystemExit, match=message):
            taken(checkout, found, *words, monkeypatch=monkeypatch)
    assert not list((checkout / "docs/measurements").iterdir())
    assert taken(checkout, CHECK, "--commit", "HEAD~", monkeypatch=monkeypatch)["commit"] == git(checkout, "rev-parse", "HEAD~")


def test_benchmarks_become_one(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head, files = git(checkout, "rev-parse", "HEAD"), []
    for k, name in enumerate(("field", "ntt")):
        row = {"name": name, "result": {"holds": True}}
        found = {
            "command": f"cuzk bench {name}",
            "subjects": [name],
            "rows": [row],
            "device": "cuda:0",
            "machine": {"commit": head},
            "load_after": [k],
        }
        found |= {"noise": {name: {}}, "kernels": {f"k.{name}": {}}, "clocks": {"before": k, f"after {name}": k}, "seconds": 1.5}
        files.append(checkout.parent / f"{name}.json")
        files[-1].write_text(json.dumps(found))
    monkeypatch.setattr("sys.argv", ["x", *map(str, files), "--as", "both.json"])
    take_measurement.main()
    got = json.loads((checkout / "docs/measurements/both.json").read_text())
    assert got["subjects"] == ["field", "ntt"] == [row["name"] for row in got["rows"]] == list(got["noise"])
    assert got["clocks"] == {"before": 0, "after field": 0, "after ntt": 1} and got["seconds"] == 3 and got["load_after"] == [1]
    assert got["commit"] == head and got["command"] == "cuzk bench field; cuzk bench ntt"
    monkeypatch.setattr("sys.argv", ["x", str(files[0]), str(files[0]), "--as", "both.json"])
    files[1].write_text(files[1].read_text().replace("cuda:0", "cuda:1"))
    monkeypatch.setattr("sys.argv", ["x", *map(str, files), "--as", "both.json"])
    with pytest.raises(SystemExit, match="more than one device"):
        take_measurement.main()


def test_every_target_of_a_card_is_measured_and_explained() -> None:
    targets = make_performance.read("card-targets.json")
    for target in targets:
        value = performance_card.on_card_value(target)
        assert value is not None, target["what"]
        word = make_performance.reached(target, value) if "must" in target else "aim"
        if word == "short" or (word == "must" and "aim" in target):
            text = performance_figures.reason(target, targets)
            assert "reason" in target and "?" not in text and "{" not in text, f"{target['what']}: {text}"
    assert len({t["what"] for t in targets}) == len(targets)


MEASURED = re.compile(r"\d\s?(?:ns|ms|µs|s|%|G/s|G additions/s|GB/s)(?!\w)")


@pytest.mark.parametrize("file", ["targets.json", "card-targets.json"])
def test_reasons_stand_by_themselves_with_numbers_from_files(file: str) -> None:
    for target in make_performance.read(file):
        text = target.get("reason", "")
        # A number with a unit is measured; a line that another points to may not be there once its aim is reached.
        assert not MEASURED.search(text), f"{target['what']}: {text}"
        assert not re.search(r"\bsee\b|\bas for\b|\babove\b", text), f"{target['what']}: {text}"


def test_points_times_windows() -> None:
    found = {"times_ms": {"g1 MSM 2^4, c = 24, windows: 9 of 23 and 2 of 24 bits, 3 at a time": {}, "x": {}}}
    assert performance_figures.entries(found, "g1 MSM 2^4, c =") == 16 * 11
    assert performance_figures.entries(found, "g1 MSM 2^5") is None


def test_every_section_of_a_card_says_its_commit() -> None:
    sections = re.split(r"^### ", performance_card.render(), flags=re.MULTILINE)[2:]
    assert len(sections) >= 8
    for section in sections:
        assert re.search(r"commit [0-9a-f]{12}|measured before commits were recorded", section.split("\n\n")[1]), section[:80]


def test_kernels_that_changed_since_are_named() -> None:
    now = {f"x.{k}": {"registers": v["registers"]} for k, v in make_performance.read("kernels-sm90.json")["kernels"].items()}
    assert performance_card.changed_since({"kernels": now}) == "" == performance_card.changed_since({})
    name = next(k for k in now if k.endswith("run_chains"))
    text = performance_card.changed_since({"kernels": now | {name: {"registers": 3}, "was": {"registers": 9}}})
    assert f"`run_chains` 3 → {now[name]['registers']}" in text and "`was` 9 → no longer there" in text


def test_measurements_of_the_cpu_are_of_commits_in_the_history() -> None:
    def ran(*arguments: str) -> bool:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False).returncode == 0

    shallow = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--is-shallow-repository"], capture_output=True, check=False)
    if not ran("rev-parse", "HEAD") or shallow.stdout.strip() != b"false":
        pytest.skip("no history here")
    for path in sorted((ROOT / "docs/measurements").glob("cpu-*.json")):
        commit = json.loads(path.read_bytes())["machine"]["commit"] or ""
        assert re.fullmatch("[0-9a-f]{40}", commit), f"{path.name}: measured with files that no commit has: {commit!r}"
        assert ran("merge-base", "--is-ancestor", commit, "HEAD"), f"{path.name}: commit {commit} is not in the history"


def test_sections_of_the_cpu_say_their_command_and_rows_their_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"median": 1.0, "min": 1.0, "max": 1.0, "spread": 0.2, "n": 5}
    noise = {"others": 0.25, "stolen": 0.03, "busy": True, "line": "the machine was busy"}
    result = {"against": "the truth", "holds": True}
    row = {"name": "setup 2KiB", "path": "scalar", "threads": 2, "seconds": seconds, "noise": noise, "result": result}
    its = {"cpu": {"llvm_name": "znver4"}, "versions": {}, "memory": None, "usable_cores": 2, "cores": 2, "path": "scalar"}
    its |= {"commit": None, "sources": "ab" * 32, "load": None}
    found = {"command": "CUZK_CPU=scalar cuzk bench setup --json", "rows": [row], "machine": its, "noise": {}, "load_after": None}
    monkeypatch.setattr(make_performance, "read", lambda name: found if name.endswith("setup-scalar.json") else None)
    text = make_performance.subject("setup", "Setup")
    assert "By `CUZK_CPU=scalar cuzk bench setup --json`:" in text and "no checkout, sources abababababab" in text
    assert "200 ms **unsteady**" in text and "0.25 + 0.03" in text


@pytest.fixture
def measurements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the measurements that the page is made from."""
    folder = tmp_path / "measurements"
    shutil.copytree(ROOT / "docs/measurements", folder)
    monkeypatch.setattr(performance_parts, "SOURCE", folder)
    return folder


def changed(path: Path, change: Callable[[dict[str, Any]], Any], name: str = "", threads: int | None = None) -> None:
    """Change a file, or the rows of one task in it."""
    found = json.loads(path.read_bytes())
    rows = [row for row in found["rows"] if row["name"] == name and threads in (None, row["threads"])] if name else [found]
    assert rows
    for row in rows:
        change(row)
    path.write_text(json.dumps(found))


def line(text: str, start: str) -> str:
    (found,) = [found for found in text.splitlines() if found.startswith(start)]
    return found


def target_named(what: str) -> dict[str, Any]:
    (found,) = [t for t in make_performance.read("targets.json") if t["what"] == what]
    return found


def test_every_reason_of_the_cpu_has_its_figures() -> None:
    targets = make_performance.read("targets.json")
    for target in targets:
        if make_performance.chosen(target) is not None and ("reason" in target or "like" in target):
            text = performance_figures.reason(target, targets)
            assert "?" not in text and "{" not in text and "no reason" not in text, f"{target['what']}: {text}"
        if make_performance.reached(target, make_performance.chosen(target)) in ("must", "short"):
            assert "reason" in target or "like" in target, target["what"]
    assert "2.2 a bucket" in (pippenger.plan.__doc__ or ""), "reasons name this count"


def test_the_two_parts_of_what_a_second_core_lacks_make_the_ratio() -> None:
    for target in make_performance.read("targets.json"):
        if target["value"] != ["speed_up"]:
            continue
        text = performance_figures.second_core(target)
        found = re.search(r"2 ÷ (\S+) × (\S+?)(?: × (\S+) \(.*\))? = ([\d.]+)\.", text)
        assert found, text
        factor, share, on_clock, ratio = (float(x or 1) for x in found.groups())
        assert abs(2 / factor * share * on_clock / ratio - 1) < 0.006, text
        row, one = performance_figures.measured_row(target), performance_figures.one_thread(target)
        assert row and one and row["threads"] == 2 and one["threads"] == 1
        assert factor == pytest.approx(row["cpu_seconds"]["median"] / one["cpu_seconds"]["median"], abs=1e-4)
        assert f"n = {row['seconds']['n']}" in text


def test_reasons_follow_the_measurements(measurements: Path) -> None:
    msm, first = measurements / "cpu-msm.json", measurements / "cpu-msm-first.json"
    if not first.exists():
        shutil.copy(msm, first)
        for threads in (1, 2):
            changed(first, lambda row: row["cpu_seconds"].update(median=3.0), "msm g1 2^16", threads)
    contents = msm.read_bytes(), first.read_bytes()
    before = make_performance.targets()
    first.write_bytes(contents[0])
    msm.write_bytes(contents[1])
    after = make_performance.targets()
    whats = [t["what"] for t in make_performance.read("targets.json") if t["file"] == "cpu-msm.json"]
    lines = [[at for at in page.splitlines() if at.startswith(tuple(f"- **{w}**" for w in whats))] for page in (before, after)]
    assert lines[0] != lines[1]

    def slower(row: dict[str, Any]) -> None:
        row["seconds"] |= {"median": 0.1, "min": 0.09, "max": 0.3, "n": 77, "spread": 0.02}
        row["cpu_seconds"] |= {"median": 0.16, "min": 0.16}
        row |= {"speed_up": 1.0, "products_speed_up": 1.25}

    changed(msm, slower, "msm g1 2^16", 2)
    text = line(make_performance.targets(), "- **second core, G1 MSM 2^16**")
    assert "(short)" in text and "waiting is 20 ms, 20 % of the wall time" in text and "n = 77" in text
    assert "Unsteady (two threads: 90 ms to 300 ms, n = 77)" in text
    assert re.search(r"gained 1\.25 in the same rounds, and this 8\d % of that", text)
    assert "1 × one thread (products in cache 1.25 ×)" in make_performance.subject("msm", "Sums")
    # Sums of phases, and the other file of a ratio.
    changed(measurements / "cpu-prove.json", lambda row: row["seconds"].update(median=13.0), "prove 2KiB")
    changed(measurements / "cpu-prove.json", lambda row: row["phases"].update(msm_h=10.0), "prove 2KiB")
    text = line(make_performance.targets(), "- **2 KiB proof, whole warm process, two cores, IFMA**")
    assert "over H takes 10 s" in text
    changed(measurements / "cpu-field-scalar.json", lambda row: row.update(ns_per_lane=77.7), "fp mul")
    assert "is 77.7 ns against" in line(
        make_performance.targets(), "- **2 KiB proof, whole warm process, two cores, scalar path**"
    )
    first = measurements / "cpu-ntt-first.json"
    target = next(t for t in make_performance.read("targets.json") if t["what"] == "second core, NTT 2^20")
    assert "another run" in performance_figures.second_core(target)
    assert first.name in make_performance.subject("ntt", "Transforms")
    first.unlink()
    text = performance_figures.second_core(target)
    assert "another run" not in text and "?" not in text


def test_the_machine_column_says_what_is_known_of_a_row(measurements: Path) -> None:
    ntt, prove = target_named("second core, NTT 2^20"), target_named("verify one proof, in process, warm")
    assert performance_figures.machine_state(prove) == "too short to tell"
    file = measurements / "cpu-ntt.json"
    changed(file, lambda row: row["seconds"].update(spread=0.0), "ntt 2^20")
    words = {"busy": {"busy": True}, "not known": {"busy": None, "line": "not known on this system"}, "quiet": {"busy": False}}
    for word, noise in words.items():
        changed(file, lambda row, noise=noise: row["noise"].update(noise), "ntt 2^20", 2)  # type: ignore[misc]
        assert performance_figures.machine_state(ntt) == word
    changed(file, lambda row: row["seconds"].update(spread=1.0), "ntt 2^20", 1)
    assert performance_figures.machine_state(ntt) == "quiet, unsteady"
    file.unlink()
    row = line(make_performance.targets(), "| second core, NTT 2^20 |")
    assert "not measured |  | cpu-ntt.json" in row and "quiet" not in row


@pytest.mark.parametrize(
    ("more", "value", "text"),
    [
        (True, 1.948, "1.948 ×"),
        (True, 1.9499996, "1.9499996 ×"),
        (True, 1.95, "1.95 ×"),
        (True, 2.0218, "2.02 ×"),
        (True, 1.7964, "1.796 ×"),
        (False, 1.9504, "1.9504 ×"),
        (False, 1.94, "1.94 ×"),
        (False, 1234.56, "1,235 ×"),
    ],
)
def test_a_value_never_looks_as_if_it_kept_a_bound_that_it_does_not_keep(more: bool, value: float, text: str) -> None:
    assert performance_parts.measured({"must": 1.8, "aim": 1.95, "unit": "×", "more": more}, value) == text


def test_the_page_shows_what_variants_shows() -> None:
    page = make_performance.variants()
    for switch in variants.listing():
        for found in switch["measured"]:
            assert f"| {found['of']} | {found['words']} |" in page


def test_the_page_says_its_help_and_names_a_broken_file(measurements: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = measurements.parent / "performance.md"
    monkeypatch.setattr(make_performance, "TARGET", page)
    monkeypatch.setattr("sys.argv", ["make_performance.py", "--help"])
    with pytest.raises(SystemExit, match="0"):
        make_performance.main()
    assert not page.exists()
    (measurements / "cpu-ntt.json").write_text('{"rows": [')
    monkeypatch.setattr("sys.argv", ["make_performance.py"])
    with pytest.raises(SystemExit, match=r"cpu-ntt\.json: no JSON"):
        make_performance.main()
    assert not page.exists()


def test_headings_of_benchmarks_are_commands_that_ran() -> None:
    for name in performance_card.BENCHES:
        assert f"### `{make_performance.read(name)['command']}`" in performance_card.bench(name)
