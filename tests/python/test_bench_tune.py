# SPDX-License-Identifier: BSD-3-Clause
"""Rules for collective operations: which algorithms they name, from which times, and the file."""
import json
import os
import pathlib
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))

from pmbench import tune, tuning  # noqa: E402
from pmbench.tuning import OPERATIONS, OWN, Algorithm, Rule  # noqa: E402

BCAST, ALLTOALL, BARRIER = (OPERATIONS[name] for name in ("bcast", "alltoall", "barrier"))
ONE, TWO = Algorithm(5), Algorithm(6, 32)
SHIPPED = pathlib.Path(ROOT, "mpi-glue", "collectives", "collectives.rules")


def times(**us):
    """By size: of Open MPI's choice, of ONE and of TWO, the same in two rounds."""
    return {int(size[1:]): {key: [value, value] for key, value in zip((OWN, ONE, TWO), values)}
            for size, values in us.items()}


def numbers(text):
    """The part of a file that Open MPI reads: all that stands before the comments."""
    return [int(word) for line in text.splitlines() for word in line.partition("#")[0].split()]


def parsed(text):
    """The file as Open MPI 4.1 takes it: rules by operation, ranks and bytes. Fails where it would be refused."""
    words = iter(numbers(text))
    found = {}
    for _ in range(next(words)):
        operation = found.setdefault(next(words), {})
        before = -1
        for _ in range(next(words)):
            ranks, sizes = next(words), next(words)
            assert ranks > before, "Open MPI takes the first number of ranks that is too large as the end"
            before = ranks
            operation[ranks] = [(next(words), next(words), next(words), next(words)) for _ in range(sizes)]
            assert operation[ranks][0][0] == 0, "the first rule of a number of ranks begins at 0"
            assert [rule[0] for rule in operation[ranks]] == sorted({rule[0] for rule in operation[ranks]})
    assert next(words, None) is None
    return found


def test_choose__only_where_it_gains():
    found = tuning.choose(BCAST, 4, [times(_64=(10, 12, 11), _1024=(10, 6, 9), _16384=(10, 12, 11))])
    assert found == [Rule(0, OWN), Rule(256, ONE), Rule(4096, OWN)]


def test_choose__nothing_is_gained():
    assert tuning.choose(BCAST, 4, [times(_64=(10, 9.6, 11))]) == []


def test_choose__not_where_one_layout_loses():
    one, other = times(_64=(10, 5, 8)), times(_64=(10, 11, 8))
    assert tuning.choose(BCAST, 4, [one, other]) == [Rule(0, TWO), Rule(128, OWN)]


def test_choose__a_gain_in_the_median_alone_is_none():
    """It must show in every round."""
    found = {64: {OWN: [10, 10, 10], ONE: [5, 11, 5], TWO: [20, 20, 20]}}
    assert tuning.choose(BCAST, 4, [found]) == []


def test_choose__a_change_must_pay_for_itself():
    found = tuning.choose(BCAST, 4, [times(_64=(10, 5, 9), _1024=(10, 5, 5.1), _16384=(10, 7, 5))])
    assert found == [Rule(0, ONE), Rule(4096, TWO), Rule(32768, OWN)]
    assert tuning.choose(BCAST, 4, [times(_64=(10, 10, 10), _1024=(10, 9, 10), _16384=(10, 11, 10))]) == []


def test_choose__goes_on_where_it_neither_gains_nor_loses():
    found = tuning.choose(BCAST, 4, [times(_64=(10, 7, 11), _1024=(10, 10.2, 10), _16384=(10, 7, 11))])
    assert found == [Rule(0, ONE), Rule(32768, OWN)]


def test_choose__counts_the_blocks_of_all_ranks():
    assert tuning.choose(ALLTOALL, 4, [times(_64=(10, 5, 9))]) == [Rule(0, OWN), Rule(256, ONE), Rule(512, OWN)]


def test_choose__a_barrier_has_no_size():
    """Open MPI asks for 0 bytes."""
    assert tuning.choose(BARRIER, 4, [times(_1=(10, 5, 9))]) == [Rule(0, ONE)]


def test_choose__what_a_lab_says_nothing_of():
    """In a lab nobody sees that one rank has all the work; two ranks share it, and real hosts show it."""
    linear = Algorithm(1)
    found = [{64: {OWN: [10, 10], linear: [5, 5]}}]
    assert tuning.choose(BCAST, 4, found) == []
    assert tuning.choose(BCAST, 4, found, is_lab=False) == tuning.choose(BCAST, 2, found) != []


def test_choose__a_single_segment_is_none():
    assert tuning.choose(BCAST, 2, [times(_32=(10, 10, 5))]) == []


def test_choose__what_would_be_another_algorithm():
    """Open MPI scatters a message only when each rank gets a part."""
    scatter = Algorithm(8)
    found = [{size: {OWN: [10, 10], scatter: [5, 5]} for size in (16, 64)}]
    assert tuning.choose(BCAST, 4, found) == [Rule(0, OWN), Rule(32, scatter), Rule(128, OWN)]


def test_text__is_what_open_mpi_reads():
    rules = {"bcast": {2: [Rule(0, OWN), Rule(64, TWO), Rule(128, OWN)], 3: [Rule(0, ONE)], 8: []}, "alltoall": {2: []}}
    text = tuning.text_of(rules, ["a heading of 1 line"])
    own = [(0, 0, 0, 0)]
    assert parsed(text) == {BCAST.identifier: {1: own, 2: [(0, 0, 0, 0), (64, 6, 0, 32), (128, 0, 0, 0)],
                                               3: [(0, 5, 0, 0)], 4: own}}


def test_text__no_rules():
    assert parsed(tuning.text_of({"bcast": {2: []}}, [])) == {}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_candidates__have_names(operation):
    assert all(1 <= each.number <= len(operation.names) for each in operation.candidates)
    labels = [each.label for each in tune.candidates(operation)]
    assert len(labels) == len(set(labels)) and labels[0] == OWN.label


def test_candidates__none_breaks_operations_that_do_not_commute():
    """Rings add in another order, and so do trees that are not in order."""
    rings = {"allreduce": {4, 5}, "reduce": {2, 3, 4, 5}}
    for name, numbers_ in rings.items():
        assert not {each.number for each in OPERATIONS[name].candidates} & numbers_


def test_arguments__of_an_algorithm():
    assert BCAST.arguments(OWN) == []
    assert " ".join(BCAST.arguments(TWO)) == (
        "--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_bcast_algorithm 6 "
        "--mca coll_tuned_bcast_algorithm_segmentsize 32")
    assert "segmentsize" not in " ".join(ALLTOALL.arguments(ONE))


def test_times__are_kept_and_read_again(tmp_path):
    path = tmp_path / "times.jsonl"
    kept = [tune.Measured(BCAST, 4, 2, times(_64=(10, 5, 9))), tune.Measured(ALLTOALL, 8, 4, times(_1=(1, 2, 3)))]
    tune.write(path, kept)
    assert tune.read(path) == kept
    assert json.loads(path.read_text().splitlines()[0])["us"] == [10, 10]


def test_main__writes_rules_without_measuring(tmp_path):
    times_path, output = tmp_path / "times.jsonl", tmp_path / "rules"
    tune.write(times_path, [tune.Measured(BCAST, 2, 2, times(_64=(10, 5, 9)))])
    assert tune.main(["--no-measure", "--times", str(times_path), "--output", str(output)]) == tune.EXIT_OK
    assert parsed(output.read_text())[BCAST.identifier][2] == [(0, 5, 0, 0), (128, 0, 0, 0)]


def test_main__no_measure_needs_times(capsys):
    assert tune.main(["--no-measure"]) == tune.EXIT_FAILED and "--times" in capsys.readouterr().err


def test_main__an_operation_that_is_none(capsys):
    with pytest.raises(SystemExit):
        tune.main(["--operation", "scan"])
    assert "no operation scan" in capsys.readouterr().err


def test_shipped__is_what_open_mpi_reads():
    """And names only algorithms that are candidates: others may be wrong for some operations."""
    by_identifier = {operation.identifier: operation for operation in OPERATIONS.values()}
    for identifier, by_ranks in parsed(SHIPPED.read_text(encoding="utf-8")).items():
        for rules in by_ranks.values():
            named = {Algorithm(number, segment) for _, number, _, segment in rules}
            assert named <= {OWN, *by_identifier[identifier].candidates}
