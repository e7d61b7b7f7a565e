"""Tours against brute force; stopping; threads."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import oracles
import pytest

import puretour


@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 8])
def test_small_instances_are_solved_to_optimality(nodes):
    points = puretour.generate("uniform", nodes, seed=nodes, normalise=False)
    best = oracles.shortest_tour_length(points.tolist())
    result = puretour.solve(points, bound=True)
    assert sorted(result.tour.tolist()) == list(range(nodes))
    assert result.length == pytest.approx(best, rel=1e-12)
    assert result.length == puretour.tour_length(points, result.tour)
    assert result.bound <= result.length + 1e-9
    assert puretour.solve_many(points[None]).lengths[0] == pytest.approx(best, rel=1e-9)


def test_a_distance_matrix_gives_the_same_length():
    points = np.random.default_rng(0).integers(0, 1000, (60, 2)).astype(float)
    matrix = np.round(np.linalg.norm(points[:, None] - points[None], axis=2))
    by_matrix = puretour.solve(distance_matrix=matrix)
    by_points = puretour.solve(puretour.instance(points, metric="EUC_2D"))
    assert by_matrix.length == by_points.length
    assert puretour.solve(matrix).length == by_matrix.length
    assert by_matrix.points is None and by_points.points is not None


def test_initial_tours_and_fixed_edges_are_kept():
    points = puretour.generate("uniform", 40, seed=1)
    best = puretour.solve(points)
    assert puretour.solve(points, method="nearest", initial=best.tour).length <= best.length
    fixed = [(0, 20), (5, 30)]
    tour = puretour.solve(points, fixed_edges=fixed).tour.tolist()
    edges = {frozenset(edge) for edge in zip(tour, tour[1:] + tour[:1])}
    assert all(frozenset(edge) in edges for edge in fixed)


def test_the_command_finds_the_same_tour(tmp_path):
    points = puretour.generate("uniform", 120, seed=3)
    puretour.write(tmp_path / "in.txt", points)
    command = [sys.executable, "-m", "puretour", "solve", str(tmp_path / "in.txt"), "-q", "-o", str(tmp_path / "out.txt")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    sample = puretour.read(tmp_path / "out.txt")[0]
    assert sample.tour.tolist() == puretour.solve(points).tour.tolist()


def test_solve_many_does_not_depend_on_threads_or_on_the_kind_of_input():
    points = puretour.generate("uniform", 40, 20, seed=2)
    result = puretour.solve_many(points, threads=2)
    assert result.tours.shape == (20, 40)
    assert (puretour.solve_many(points, threads=1).tours == result.tours).all()
    assert (np.array(puretour.solve_many(list(points)).tours) == result.tours).all()
    assert (result.lengths == puretour.tour_length(points, result.tours)).all()
    mixed = puretour.solve_many([points[0][:7], points[1], points[2][:1]])
    assert [len(tour) for tour in mixed.tours] == [7, 40, 1]
    excess = result.lengths / puretour.solve_many(points, method="eax").lengths - 1
    assert excess.min() > -1e-6 and excess.mean() < 2e-3


def test_complete_tour_is_exact_for_few_unvisited_nodes():
    points = puretour.generate("uniform", 9, 6, seed=7)
    visited = np.array([[b, (b + 3) % 9, (b + 5) % 9] for b in range(6)])
    tours = puretour.complete_tour(points, visited)
    for b in range(6):
        assert tours[b, :3].tolist() == visited[b].tolist()
        best = oracles.shortest_tour_length(points[b].tolist(), visited[b].tolist())
        assert puretour.tour_length(points[b], tours[b]) == pytest.approx(best)
    assert puretour.complete_tour(points[0], []).shape == (9,)
    assert puretour.complete_tour(points[0], tours[0]).tolist() == tours[0].tolist()


def test_tour_length_of_batches():
    points = puretour.generate("uniform", 12, 3, seed=1)
    tours = np.array([[np.random.default_rng(9 * b + s).permutation(12) for s in range(4)] for b in range(3)])
    lengths = puretour.tour_length(points, tours)
    assert lengths.shape == (3, 4)
    assert lengths[2, 1] == pytest.approx(oracles.tour_length(points[2].tolist(), tours[2, 1].tolist()))
    assert puretour.tour_length(points[2], tours[2]).tolist() == lengths[2].tolist()


def test_progress_is_called_and_can_end_the_search():
    calls = []

    def stop_soon(phase, length):
        calls.append((phase, length))
        return False

    result = puretour.solve(puretour.generate("uniform", 3000, seed=1), time_limit=30, method="lk", progress=stop_soon)
    assert len(calls) == 1 and sorted(result.tour.tolist()) == list(range(3000))
    counts = []
    puretour.solve_many(puretour.generate("uniform", 30, 50), progress=lambda done, total: counts.append((done, total)))
    assert counts[-1] == (50, 50)


def test_exceptions_of_callbacks_reach_the_caller():
    def fail(*_):
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        puretour.solve(puretour.generate("uniform", 2000, seed=1), time_limit=20, progress=fail)
    with pytest.raises(RuntimeError, match="from the callback"):
        puretour.solve_many(puretour.generate("uniform", 20, 10), progress=fail)


@pytest.mark.parametrize(
    "call",
    [
        "puretour.solve(puretour.generate('uniform', 5000), time_limit=60)",
        "puretour.solve_many(puretour.generate('uniform', 200, 100000))",
        "puretour.load_model('invit50-pupo').solve(puretour.generate('uniform', 5000), decode='sample:1000')",
    ],
)
def test_ctrl_c_raises_keyboard_interrupt(call):
    program = (
        "import puretour, sys\nprint('ready', flush=True)\n"
        f"try:\n    {call}\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
        "print(puretour.solve([[0, 0], [1, 0], [0, 1]]).tour.tolist())\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=50)[0].splitlines()  # less than the call would take
    assert output[0] == "interrupted" and len(output) == 2


def test_the_gil_is_free_during_a_search_and_threads_do_not_disturb_each_other():
    points = puretour.generate("uniform", 300, 4, seed=6)
    expected = [puretour.solve(p, seed=b).tour.tolist() for b, p in enumerate(points)]
    found = [None] * 4

    def work(b):
        found[b] = puretour.solve(points[b], seed=b).tour.tolist()

    threads = [threading.Thread(target=work, args=(b,)) for b in range(4)]
    ticks = 0
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(0)
        ticks += 1
    assert found == expected
    assert ticks > 100  # this thread ran meanwhile; with the lock held it gets a turn or two at most


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_it_works_after_a_fork():
    import multiprocessing

    points = puretour.generate("uniform", 30, 8, seed=1)
    expected = puretour.solve_many(points).tours
    with multiprocessing.get_context("fork").Pool(2) as pool:
        tours = pool.map(_label, points)
    assert all(len(tour) == 30 for tour in tours) and expected.shape == (8, 30)


def _label(points):
    return puretour.solve_many(points[None]).tours[0]
