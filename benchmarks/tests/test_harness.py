"""Work, processes and going on: the records are the same whichever way they came about."""

import json

import pytest

from fake import Constant, FakeBenchmark
from fermiclass.errors import BenchmarkError
from fermiclass.evaluation.baselines import BaselineClassifier
from fermiclass_benchmarks import harness
from fermiclass_benchmarks.harness import RecordFile, run

ESTIMATORS = {("easy/0", "logistic"): BaselineClassifier(), ("hard/0", "constant"): Constant()}
HEADER = {"benchmark": "fake", "versions": {}}


def untimed(records):
    rows = records.to_dict("records") if hasattr(records, "to_dict") else records
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


@pytest.fixture(scope="module")
def expected():
    return untimed(run(FakeBenchmark(), ESTIMATORS, 5))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.jsonl"


@pytest.fixture
def seen(monkeypatch):
    """What had to be done."""
    run_split, done = harness.run_split, []
    monkeypatch.setattr(harness, "run_split", lambda work: done.append((work.cell, work.split)) or run_split(work))
    return done


def go(path, *, num_splits=5, estimators=ESTIMATORS, **options):
    """Run with a file."""
    file = RecordFile(path, HEADER)
    return untimed(run(FakeBenchmark(), estimators, num_splits, file=file, **options))


def test_a_record_for_every_split_in_order(expected):
    assert [(r["cell"], r["method"], r["split"]) for r in expected] == [
        (cell, method, split) for cell, method in ESTIMATORS for split in range(5)
    ]


def test_the_file_holds_a_header_and_all_records(path, expected):
    same_records(go(path), expected)
    header, *lines = map(json.loads, path.read_text().splitlines())
    assert header == HEADER
    same_records(lines, expected)


def same_records(records, expected):
    """Records lack what a table fills up with NaN."""
    one, other = (
        [{key: value for key, value in row.items() if value == value} for row in untimed(rows)]
        for rows in (records, expected)
    )
    assert one == other


def test_splits_that_are_done_are_not_done_again(path, expected, seen):
    go(path, num_splits=3)
    seen.clear()
    same_records(go(path), expected)
    assert seen == [("easy/0", 3), ("easy/0", 4), ("hard/0", 3), ("hard/0", 4)]


def test_fewer_splits_and_methods_than_the_file_has(path, expected):
    go(path)
    only = {("hard/0", "constant"): Constant()}
    same_records(go(path, num_splits=2, estimators=only), expected[5:7])


def test_an_interrupted_run_goes_on(path, expected, seen, monkeypatch):
    spy = harness.run_split

    def interrupted(work):
        if len(seen) == 7:
            raise KeyboardInterrupt
        return spy(work)

    with monkeypatch.context() as patched:
        patched.setattr(harness, "run_split", interrupted)
        with pytest.raises(KeyboardInterrupt):
            go(path)
    seen.clear()
    same_records(go(path), expected)
    assert seen == [("hard/0", 2), ("hard/0", 3), ("hard/0", 4)]


@pytest.mark.parametrize("cut", [1, 40])
def test_a_torn_last_line_is_done_again(path, expected, seen, cut):
    go(path)
    path.write_bytes(path.read_bytes()[:-cut])
    seen.clear()
    same_records(go(path), expected)
    assert seen == [("hard/0", 4)]
    assert len(path.read_text().splitlines()) == 12  # two headers


def test_a_damaged_line_is_an_error(path):
    go(path)
    lines = path.read_text().splitlines(keepends=True)
    lines[3] = lines[3][:30] + "\n"
    path.write_text("".join(lines))
    with pytest.raises(BenchmarkError, match=r"results\.jsonl' is damaged"):
        go(path)


@pytest.mark.parametrize(
    "content",
    ["Source_Name,P_psr\n", "one line", '{"a": 1}\n', "[1]\n", '{"benchmark": "fake"', '{"benchmark": "uci"}\n'],
)
def test_a_file_of_something_else_is_left_alone(path, content):
    path.write_text(content)
    with pytest.raises(BenchmarkError, match="no file of results of the benchmark 'fake'"):
        go(path)
    assert path.read_text() == content


def test_results_of_other_settings(path):
    go(path)
    other = ESTIMATORS | {("easy/0", "logistic"): BaselineClassifier(seed=3)}
    with pytest.raises(BenchmarkError, match=r"'logistic' on 'easy/0'.*\(seed was 0, is 3\)"):
        go(path, estimators=other)


def test_two_processes(path, expected):
    same_records(go(path, workers=2), expected)
