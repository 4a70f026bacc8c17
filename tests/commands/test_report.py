"""`cuzk report`: a page that holds everything itself and says what the files say; files that are none are refused."""

from __future__ import annotations

import json
import re
import threading
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cuzk.cli import main
from cuzk.timing import Phase, Timer

VOID = {"meta", "br", "line", "rect", "circle", "link", "i"}


class Reader(HTMLParser):
    """Tags must close; text is collected."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [v or "" for k, v in attrs if k in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def timing_file(path: Path, more: float = 0.0, **facts: object) -> Path:
    timer = Timer()
    timer.partition = 0
    with timer.phase("witness"):
        time.sleep(0.005)
    with timer.phase("msm_h"), timer.phase("digits"):
        time.sleep(0.005 + more)
    if more:
        with timer.phase("only_here"):
            pass
    timer.span("worker_0", "msm_h", 0.006, 0.004, 0)
    timer.span("cuda:0", "ntt_h", 0.001, 0.004, 0)
    timer.stop()
    timer.write_json(path, {"source": "<made & up>", **facts})
    return path


def report(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(["report", *map(str, arguments)])
    out = capsys.readouterr()
    return left.value.code, out.out + out.err


def read(path: Path) -> tuple[Reader, str]:
    html = path.read_text()
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    return reader, html


def test_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = timing_file(tmp_path / "a.json", settings={"presize": "<on>"})
    code, out = report(capsys, file, "-o", tmp_path / "out.html")
    assert code == 0 and "out.html" in out
    reader, html = read(tmp_path / "out.html")
    assert reader.links == [] and "url(" not in html and "@import" not in html and "<script" not in html
    for word in ("a.json", "witness", "digits", "worker_0", "cuda:0", "unaccounted", "ntt_msm_h", "total"):
        assert any(word in text for text in reader.words), word
    assert "<made & up>" not in html and "&lt;made &amp; up&gt;" in html
    assert re.search(r"<title>digits, partition 0: 0\.0\d+ s", html)
    assert "difference" not in html and "settings: presize=&lt;on&gt;" in html


def test_two_files_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counters = {"values": {"page_faults": 12345}, "usage": {"user_seconds": 1.5}, "refused": {"cycles": "ENOENT: none <here>"}}
    variant = {"name": "base", "times": [1.0, 1.2], "seconds": {"median": 1.1}, "counters": counters}
    other = {"name": "presize=off", "times": [1.5, 1.4], "seconds": {"median": 1.45}, "words": "presize=off: slower & surer"}
    files = [timing_file(tmp_path / "a.json"), timing_file(tmp_path / "b.json", 0.02, variants=[variant, other])]
    assert report(capsys, *files, "-o", tmp_path / "out.html")[0] == 0
    reader, html = read(tmp_path / "out.html")
    text = " ".join(reader.words)
    assert "difference, s" in text and "presize=off: slower & surer" in text and "12,345" in text
    assert "cycles: ENOENT: none <here>" in text
    row = next(r for r in html.split("<h2>Phases")[1].split("<tr>") if ">msm_h<" in r)
    before, after = (json.loads(f.read_text())["phases"]["msm_h"] for f in files)
    assert f"{before:.4f}" in row and f"{after:.4f}" in row and f"{100 * (after - before) / before:+.1f}" in row
    assert "new" in next(r for r in html.split("<h2>Phases")[1].split("<tr>") if ">only_here<" in r)


@pytest.mark.parametrize(
    "text",
    [
        *(
            '{"seconds": 1, "phases": {}, "tree": {"name": "t", "start": 0, "seconds": 1}, ' + rest
            for rest in ('"tracks": [{"track": "w", "spans": [[1]]}]}', '"variants": [{"times": [], "seconds": {}}]}')
        ),
        *(
            f'{{"phases": {{}}, "seconds": {whole}, "tree": {{"name": "t", "start": 0, "seconds": {root}}}, '
            f'"tracks": [{{"track": "w", "spans": [["a", {span}, 1, null]]}}], '
            f'"variants": [{{"name": "a", "times": [{run}], "seconds": {{"median": 1}}}}]}}'
            for whole, root, span, run in (("1e400", 1, 1, 1), (1, "1e400", 1, 1), (1, 1, "NaN", 1), (1, 1, 1, "Infinity"))
        ),
        '{"phases": {"a": 1e400}, "seconds": 1, "tree": {"name": "t", "start": 0, "seconds": 1}}',
        "",
        "[]",
        "{",
        "{}",
        '{"seconds": 1, "phases": {}}',
        '{"seconds": 1, "phases": {}, "tree": {"name": "total", "start": 0}}',
        '{"seconds": 1, "phases": {}, "tree": {"name": "total", "start": 0, "seconds": -1}}',
        '{"seconds": 1, "phases": {}, "tree": {"name": "total", "start": 0, "seconds": 1, "children": [3]}}',
    ],
)
def test_files_that_are_none(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text(text)
    code, out = report(capsys, tmp_path / "a.json", "-o", tmp_path / "out.html", "--json")
    assert code == 3 and not (tmp_path / "out.html").exists()
    assert json.loads(out)["error"]["file"].endswith("a.json")


def test_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(capsys, "-o", tmp_path / "out.html")[0] == 2
    assert report(capsys, tmp_path / "absent.json", "-o", tmp_path / "out.html")[0] == 2
    file = timing_file(tmp_path / "a.json")
    before = file.read_bytes()
    for place, word in ((file, "an input would be overwritten"), (tmp_path / "absent/out.html", "does not exist")):
        code, out = report(capsys, file, "-o", place)
        assert code == 2 and word in out
    assert file.read_bytes() == before


def side_by_side_file(path: Path, beside: bool) -> Path:
    """Two sums, the second by a thread of its own or after the first."""
    timer = Timer()

    def second(parent: Phase) -> None:
        with timer.within(parent), timer.phase("msm_b_g2"):
            time.sleep(0.01)

    if beside:
        with timer.phase("msm_side_by_side") as parent:
            thread = threading.Thread(target=second, args=(parent,))
            thread.start()
            with timer.phase("msm_l"):
                time.sleep(0.01)
            thread.join()
    else:
        for name in ("msm_l", "msm_b_g2"):
            with timer.phase(name):
                time.sleep(0.01)
    timer.stop()
    timer.write_json(path, {})
    return path


def phase_rows(html: str) -> dict[str, str]:
    rows = html.split("<h2>Phases")[1].split("<tr>")[2:]
    return {row.split(">")[1].split("<")[0]: row for row in rows}


def test_phases_are_matched_whether_or_not_they_ran_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [side_by_side_file(tmp_path / "a.json", False), side_by_side_file(tmp_path / "b.json", True)]
    assert report(capsys, *files, "-o", tmp_path / "out.html")[0] == 0
    rows = phase_rows(read(tmp_path / "out.html")[1])
    for name in ("msm_l", "msm_b_g2"):
        assert "new" not in rows[name] and "-100" not in rows[name], name
        assert "padding-left:0.6rem" in rows[name]
    assert "ran side by side" in rows["msm_side_by_side"]
    assert report(capsys, files[1], "-o", tmp_path / "one.html")[0] == 0
    rows = phase_rows(read(tmp_path / "one.html")[1])
    assert "children side by side: they may add up to more" in rows["msm_side_by_side"]
    assert "padding-left:1.8rem" in rows["msm_l"] and "side by side" not in rows["msm_l"]


def test_facts_are_in_words_with_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = {"ids_checked": False, "bytes_per_second": 3421745808, "sector_size": 2048, "aggregated": True, "odd_thing": 1234567}
    file = timing_file(tmp_path / "a.json", **facts)
    assert report(capsys, file, "-o", tmp_path / "out.html")[0] == 0
    text = " ".join(read(tmp_path / "out.html")[0].words)
    for word in ("ids not checked", "at 3.42 GB/s", "sector of 2 KiB", "; aggregated", "odd thing 1,234,567"):
        assert word in text, word
    assert "ids_checked" not in text and "3421745808" not in text


def test_every_file_has_its_own_scale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [timing_file(tmp_path / "a.json"), timing_file(tmp_path / "b.json", 0.4)]
    assert report(capsys, *files, "-o", tmp_path / "out.html")[0] == 0
    html = read(tmp_path / "out.html")[1]
    assert "its own scale" in html
    widths = [int(w) for w in re.findall(r'aria-label="timeline" width="(\d+)"', re.sub("<details>.*?</details>", "", html))]
    assert len(widths) == 2 and min(widths) > 1000


def test_wide_tables_can_be_scrolled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(capsys, timing_file(tmp_path / "a.json"), "-o", tmp_path / "out.html")[0] == 0
    html = read(tmp_path / "out.html")[1]
    assert html.count("<table>") == html.count("<div class=wide><table>") and ".wide { overflow-x: auto; }" in html


def test_settings_have_a_lane_and_a_table_of_phases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    timer = Timer()
    for timer.setting in ("base", "presize=off", "presize=off", "base"):
        with timer.phase("witness"):
            time.sleep(0.002)
    timer.setting = None
    timer.stop()
    variants = [
        {"name": name, "times": [1.0, 1.1], "seconds": {"median": 1.05}, "phases": {"witness": seconds}, "words": name}
        for name, seconds in (("base", 0.5), ("presize=off", 0.625))
    ]
    facts = {"variants": variants, "differences": "of pairs", "settings_compared": {"base": {"presize": "on"}}}
    timer.write_json(tmp_path / "a.json", facts)
    assert report(capsys, tmp_path / "a.json", "-o", tmp_path / "out.html")[0] == 0
    reader, html = read(tmp_path / "out.html")
    text = " ".join(reader.words)
    assert "settings of base: presize=on" in text and "of pairs" in text and "0.6250" in text
    first = re.sub("<details>.*?</details>", "", html)
    assert re.findall(r"<title>(base|presize=off): ", first) == ["base", "presize=off", "base"]
    assert len(re.findall(r"<title>witness, presize=off: ", first)) == 2
    legend = html.split("settings: <span")[1].split("</p>")[0]
    assert re.findall(r"</i>(.*?)<", legend) == ["base", "presize=off"]
