import pytest

from cuzk.errors import UsageError
from cuzk.seal import sector

# name, log2 nodes, base levels, sub arity, top arity, layers, challenges, partitions, non-interactive partitions
TABLE = [
    ("2KiB", 6, 2, 0, 0, 2, 2, 1, 13),
    ("4KiB", 7, 2, 2, 0, 2, 2, 1, 13),
    ("16KiB", 9, 2, 8, 0, 2, 2, 1, 13),
    ("32KiB", 10, 2, 8, 2, 2, 2, 1, 13),
    ("8MiB", 18, 6, 0, 0, 2, 2, 1, 13),
    ("16MiB", 19, 6, 2, 0, 2, 2, 1, 13),
    ("512MiB", 24, 8, 0, 0, 2, 2, 1, 13),
    ("1GiB", 25, 8, 2, 0, 2, 2, 1, 13),
    ("32GiB", 30, 9, 8, 0, 11, 18, 10, 126),
    ("64GiB", 31, 9, 8, 2, 11, 18, 10, 126),
]


@pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])
def test_sizes_follow_the_published_table(row):
    s = sector.parse(row[0])
    assert row[1:] == (
        s.tree_d_levels, s.base_levels, s.sub_arity, s.top_arity, s.layers, s.challenges, s.partitions, s.ni_partitions,
    )  # fmt: skip
    assert s.nodes == 1 << row[1]
    product = 1
    for arity in s.tree_arities:
        product *= arity
    assert product == s.nodes


def test_parse_takes_any_case_and_bytes():
    assert sector.parse("32gib") is sector.parse(32 << 30) is sector.parse(str(32 << 30))
    assert len(sector.SECTORS) == len(TABLE)


@pytest.mark.parametrize("text", ["", "3KiB", "-2048", "2048.0", "٢٠٤٨", "9" * 5000, "2 KiB"])
def test_parse_refuses(text):
    with pytest.raises(UsageError, match="unknown sector size"):
        sector.parse(text)
