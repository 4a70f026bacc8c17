import pytest

from cuzk.errors import UsageError
from cuzk.formats import registry

# rust-filecoin-proofs-api src/registry.rs 14-106.
PUBLISHED = [
    (0, "StackedDrg2KiBV1", 2048, "1.0.0", "interactive", 1),
    (3, "StackedDrg32GiBV1", 32 << 30, "1.0.0", "interactive", 10),
    (5, "StackedDrg2KiBV1_1", 2048, "1.1.0", "interactive", 1),
    (7, "StackedDrg512MiBV1_1", 512 << 20, "1.1.0", "interactive", 1),
    (9, "StackedDrg64GiBV1_1", 64 << 30, "1.1.0", "interactive", 10),
    (11, "StackedDrg8MiBV1_1_Feat_SyntheticPoRep", 8 << 20, "1.2.0", "synthetic", 1),
    (13, "StackedDrg32GiBV1_1_Feat_SyntheticPoRep", 32 << 30, "1.2.0", "synthetic", 10),
    (15, "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep", 2048, "1.2.0", "non-interactive", 13),
    (19, "StackedDrg64GiBV1_2_Feat_NonInteractivePoRep", 64 << 30, "1.2.0", "non-interactive", 126),
]


@pytest.mark.parametrize("row", PUBLISHED, ids=[row[1] for row in PUBLISHED])
def test_published_rows(row):
    p = registry.parse(row[1])
    assert (p.number, p.name, p.sector.size, p.api_version, p.feature, p.partitions) == row
    assert registry.parse(row[0]) is registry.parse(str(row[0])) is p
    assert p.porep_id == bytes([row[0]]) + bytes(31)
    assert p.vanilla_key == registry.REGISTERED[row[0] % 5].name


def test_numbers_are_positions_and_names_differ():
    assert [p.number for p in registry.REGISTERED] == list(range(20))
    assert len(registry.BY_NAME) == 20


@pytest.mark.parametrize("text", ["20", "-1", "", "StackedDrg2KiBV2", "StackedDrg4KiBV1", "stackeddrg2kibv1", "05x", "٥"])
def test_unknown_is_refused(text):
    with pytest.raises(UsageError, match="unknown registered proof"):
        registry.parse(text)
