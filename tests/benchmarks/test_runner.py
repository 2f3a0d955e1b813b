"""Plans, executors and going on: the records are the same whichever way they came about."""

import json

import pytest

from fermiclass.benchmarks import executors
from fermiclass.benchmarks.blocks import run_block
from fermiclass.benchmarks.records import RecordFile
from fermiclass.benchmarks.runner import run
from fermiclass.errors import BenchmarkError, OutputError
from fermiclass.evaluation.baselines import BaselineClassifier

from .fake import Constant, Deadly, FakeBenchmark, WithoutData

ESTIMATORS = {("easy/0", "logistic"): BaselineClassifier(), ("hard/0", "constant"): Constant()}
HEADER = {"benchmark": "fake", "versions": {}}
TIMES = {"seconds", "fit_seconds", "predict_seconds"}


def untimed(records):
    return [{key: value for key, value in record.items() if key not in TIMES} for record in records]


@pytest.fixture(scope="module")
def expected():
    return untimed(run(FakeBenchmark(), ESTIMATORS, num_splits=5, block_size=2))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.jsonl"


def go(path, seen=None, *, num_splits=5, estimators=ESTIMATORS, execute=executors.here, **options):
    """Run with a file; ``seen`` takes what had to be done."""

    def spy(blocks):
        if seen is not None:
            seen.extend((block.cell, block.splits) for block in blocks)
        return execute(blocks)

    file = RecordFile(path, HEADER)
    return untimed(
        run(FakeBenchmark(), estimators, num_splits=num_splits, block_size=2, execute=spy, file=file, **options)
    )


def test_a_record_for_every_split_in_order(expected):
    assert [(r["cell"], r["method"], r["split"]) for r in expected] == [
        (cell, method, split) for cell, method in ESTIMATORS for split in range(5)
    ]


def test_progress_counts_splits():
    seen = []
    run(FakeBenchmark(), ESTIMATORS, num_splits=3, block_size=2, progress=lambda *counts: seen.append(counts))
    assert seen == [(0, 6), (2, 6), (3, 6), (5, 6), (6, 6)]


def test_the_file_holds_a_header_and_all_records(path, expected):
    assert go(path) == expected
    header, *lines = map(json.loads, path.read_text().splitlines())
    assert header == HEADER
    assert untimed(lines) == expected


def test_a_whole_file_leaves_nothing_to_do(path, expected):
    go(path)
    content, seen = path.read_bytes(), []
    assert go(path, seen) == expected
    assert seen == []
    assert path.read_bytes() == content


def test_splits_of_a_block_that_are_done_are_not_done_again(path, expected):
    go(path, num_splits=3)
    seen = []
    assert go(path, seen) == expected
    assert seen == [("easy/0", (3,)), ("easy/0", (4,)), ("hard/0", (3,)), ("hard/0", (4,))]


def test_fewer_splits_and_methods_than_the_file_has(path, expected):
    go(path)
    only = {("hard/0", "constant"): Constant()}
    assert go(path, num_splits=2, estimators=only) == expected[5:7]


def test_an_interrupted_run_goes_on(path, expected):
    def interrupted(blocks):
        yield run_block(blocks[0])
        yield run_block(blocks[1])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(path, execute=interrupted)
    seen = []
    assert go(path, seen) == expected
    assert seen == [("easy/0", (4,)), ("hard/0", (0, 1)), ("hard/0", (2, 3)), ("hard/0", (4,))]


@pytest.mark.parametrize("cut", [1, 40])
def test_a_torn_last_line_is_done_again(path, expected, cut):
    go(path)
    path.write_bytes(path.read_bytes()[:-cut])
    seen = []
    assert go(path, seen) == expected
    assert seen == [("hard/0", (4,))]
    assert len(path.read_text().splitlines()) == 12  # two headers
    assert go(path) == expected


def test_a_damaged_line_is_an_error(path):
    go(path)
    lines = path.read_text().splitlines(keepends=True)
    lines[3] = lines[3][:30] + "\n"
    path.write_text("".join(lines))
    with pytest.raises(BenchmarkError, match=r"results\.jsonl' is damaged.*line 4.*Choose another file"):
        go(path)


@pytest.mark.parametrize("content", ["Source_Name,P_psr\n", "one line", '{"a": 1}\n', "[1]\n", '{"benchmark": "fake"'])
def test_a_file_of_something_else_is_left_alone(path, content):
    path.write_text(content)
    with pytest.raises(BenchmarkError, match="not a file of a benchmark's results"):
        go(path)
    assert path.read_text() == content


def test_results_of_another_benchmark(path):
    path.write_text('{"benchmark": "uci"}\n')
    with pytest.raises(BenchmarkError, match=r"holds results of the benchmark 'uci', not of 'fake'\. Choose another"):
        go(path)


def test_results_of_other_settings(path):
    go(path)
    other = ESTIMATORS | {("easy/0", "logistic"): BaselineClassifier(seed=3)}
    with pytest.raises(BenchmarkError, match=r"'logistic' on 'easy/0'.*\(seed was 0, is 3\). Choose another file"):
        go(path, estimators=other)


def test_no_place_for_the_file(tmp_path):
    with pytest.raises(OutputError, match="there is no folder"):
        RecordFile(tmp_path / "nowhere" / "results.jsonl", HEADER)


def test_two_processes(path, expected):
    assert go(path, execute=executors.processes(2)) == expected


def test_a_process_that_dies():
    estimators = {("easy/0", "deadly"): Deadly()}
    with pytest.raises(BenchmarkError, match=r"worker processes was ended from outside.*fewer --workers"):
        run(FakeBenchmark(), estimators, num_splits=1, execute=executors.processes(2))


def test_errors_of_the_user_come_back_from_processes():
    with pytest.raises(BenchmarkError, match=r"no data for (easy|hard)/0"):
        run(WithoutData(), ESTIMATORS, num_splits=1, execute=executors.processes(2))


@pytest.mark.filterwarnings("default")  # Dask's own
def test_dask(path, expected):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        assert go(path, execute=executors.dask(cluster.scheduler_address)) == expected
