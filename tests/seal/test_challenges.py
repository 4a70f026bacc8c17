import numpy as np

from cuzk.seal import challenges

# rust-fil-proofs storage-proofs-porep/src/stacked/vanilla/challenges.rs 512-549: nodes 1024, set of 21.
REPLICA_ID = (55).to_bytes(32, "little")
COMM_R = (101).to_bytes(32, "little")
SEED = b"\1" * 32


def test_synthetic_set_published():
    found = challenges.synthetic_set(REPLICA_ID, COMM_R, 1024, np.arange(5, dtype=np.uint64))
    assert found.tolist() == [178, 297, 869, 211, 875]


def test_synthetic_set_by_index_equals_in_order():
    order = np.array([20, 3, 0, 3, 7], np.uint64)
    whole = challenges.synthetic_set(REPLICA_ID, COMM_R, 1024, np.arange(21, dtype=np.uint64))
    assert (challenges.synthetic_set(REPLICA_ID, COMM_R, 1024, order) == whole[order.astype(int)]).all()


def test_synthetic_challenges_published():
    found = challenges.synthetic(REPLICA_ID, COMM_R, SEED, 1024, 10, set_size=21)
    assert found.tolist() == [176, 781, 801, 986, 290, 211, 692, 856, 986, 332]


def test_longer_lists_extend_shorter_ones():
    for count in (1, 2, 15, 16, 17, 33):
        assert (
            challenges.synthetic(REPLICA_ID, COMM_R, SEED, 1 << 30, count)
            == challenges.synthetic(REPLICA_ID, COMM_R, SEED, 1 << 30, 180)[:count]
        ).all()
        assert (
            challenges.interactive(REPLICA_ID, SEED, 1 << 30, count)
            == challenges.interactive(REPLICA_ID, SEED, 1 << 30, 180)[:count]
        ).all()


def test_every_input_matters_where_it_should():
    other = b"\2" * 32

    def differ(a, b):
        return (a != b).any()

    i, s, n = challenges.interactive, challenges.synthetic, challenges.non_interactive
    nodes, count = 1 << 30, 18
    assert differ(i(REPLICA_ID, SEED, nodes, count), i(other, SEED, nodes, count))
    assert differ(i(REPLICA_ID, SEED, nodes, count), i(REPLICA_ID, other, nodes, count))
    assert differ(n(REPLICA_ID, COMM_R, nodes, count), n(REPLICA_ID, other, nodes, count))
    assert differ(n(REPLICA_ID, COMM_R, nodes, count), i(REPLICA_ID, COMM_R, nodes, count))
    base = s(REPLICA_ID, COMM_R, SEED, nodes, count)
    assert differ(base, s(other, COMM_R, SEED, nodes, count))
    assert differ(base, s(REPLICA_ID, other, SEED, nodes, count))
    assert differ(base, s(REPLICA_ID, COMM_R, other, nodes, count))


def test_node_zero_is_never_challenged():
    found = challenges.interactive(REPLICA_ID, SEED, 2, 50)
    assert (found == 1).all()
    found = challenges.interactive(REPLICA_ID, SEED, 4, 400)
    assert sorted(set(found.tolist())) == [1, 2, 3]
