"""Generators and files."""

import subprocess
import sys

import numpy as np
import pytest

import puretour


@pytest.mark.parametrize("distribution", ["uniform", "clustered", "explosion", "implosion"])
def test_instances_are_those_of_the_command(distribution, tmp_path):
    points = puretour.generate(distribution, 30, 4, seed=7)
    file = tmp_path / "made.npy"
    command = ["generate", "--distribution", distribution, "--nodes", "30", "--count", "4", "--seed", "7", "-o", str(file)]
    subprocess.run([sys.executable, "-m", "puretour", *command], check=True, stdout=subprocess.DEVNULL)
    assert (np.load(file) == points).all()
    assert (puretour.generate(distribution, 30, seed=7) == points[0]).all()
    assert (puretour.generate(distribution, 30, 2, seed=7, threads=1) == points[:2]).all()
    assert points.min() >= 0 and points.max() <= 1


def test_empty_batches():
    assert puretour.generate("uniform", 10, 0).shape == (0, 10, 2)
    assert puretour.solve_many(np.zeros((0, 10, 2))).tours.shape == (0, 10)
    assert puretour.solve_many([]).tours == []
    assert puretour.pupo_weights(np.zeros((0, 10, 2)), np.zeros((0, 10), int)).shape == (0, 10)
    assert puretour.purity_orders(np.zeros((0, 10, 2))).shape == (0, 10, 10)
    assert puretour.tour_length(np.zeros((0, 10, 2)), np.zeros((0, 10), int)).shape == (0,)
    assert puretour.complete_tour(np.zeros((0, 10, 2)), np.zeros((0, 3), int)).shape == (0, 10)
    assert puretour.load_model("am50-pupo").rollout(np.zeros((0, 10, 2))).tours.shape == (0, 10)


@pytest.mark.parametrize("suffix", ["txt", "npz", "npy"])
def test_batches_survive_files(suffix, tmp_path):
    points = puretour.generate("uniform", 12, 3, seed=1)
    tours = None if suffix == "npy" else puretour.solve_many(points).tours
    file = tmp_path / f"set.{suffix}"
    puretour.write(file, points, tours)
    samples = puretour.read(file)
    assert (np.array([sample.instance.points for sample in samples]) == points).all()
    if tours is None:
        assert all(sample.tour is None for sample in samples)
    else:
        assert (np.array([sample.tour for sample in samples]) == tours).all()
    puretour.write(tmp_path / f"again.{suffix}", samples)
    assert len(puretour.read(tmp_path / f"again.{suffix}")) == 3


def test_tsplib_files(tmp_path):
    made = puretour.instance([[0, 0], [3, 0], [3, 4.6], [0, 4]], metric="EUC_2D", fixed_edges=[[0, 2]], name="four")
    puretour.write(tmp_path / "four.tsp", made)
    read = puretour.read(tmp_path / "four.tsp")[0].instance
    assert (read.name, read.metric, len(read), read.fixed_edges.tolist()) == ("four", "EUC_2D", 4, [[0, 2]])
    assert read.distance(1, 2) == 5 and read.distance_matrix is None
    result = puretour.solve(tmp_path / "four.tsp")
    assert puretour.tour_length(read, result.tour) == result.length
    puretour.write_tour(tmp_path / "four.tour", result.tour, "four", result.length)
    again = puretour.read_tour(tmp_path / "four.tour", 4)
    assert again[0] == 0 and puretour.tour_length(read, again) == result.length
    matrix = puretour.instance(distance_matrix=[[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    puretour.write(tmp_path / "three.tsp", matrix)
    assert puretour.read(tmp_path / "three.tsp")[0].instance.distance_matrix.tolist() == matrix.distance_matrix.tolist()
    assert repr(matrix) == "<puretour.Instance 3 nodes, EXPLICIT>"


def test_errors_of_files(tmp_path):
    with pytest.raises(puretour.InputError, match="nowhere.tsp"):
        puretour.read(tmp_path / "nowhere.tsp")
    (tmp_path / "bad.tsp").write_text("DIMENSION: 2\nNODE_COORD_SECTION\n1 0 x\n")
    with pytest.raises(puretour.InputError, match="bad.tsp:"):
        puretour.solve(str(tmp_path / "bad.tsp"))
    puretour.write(tmp_path / "many.txt", puretour.generate("uniform", 5, 2))
    with pytest.raises(puretour.InputError, match="holds 2 instances"):
        puretour.solve(tmp_path / "many.txt")
