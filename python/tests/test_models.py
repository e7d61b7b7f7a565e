"""Networks: tours, log-probabilities, and the command as an oracle."""

import json
import subprocess
import sys

import numpy as np
import pytest

import puretour

NAMES = puretour.models()


def test_there_are_networks():
    assert len(NAMES) >= 1


@pytest.fixture(params=NAMES, scope="module")
def model(request):
    return puretour.load_model(request.param)


def test_description(model):
    assert model.architecture in ("am", "pointerformer", "invit")
    assert model.num_parameters > 100_000
    assert model.config["embedding_dim"] == 128
    assert model.architecture in repr(model)


def test_rollouts_are_tours_with_their_log_probabilities(model):
    points = puretour.generate("uniform", 30, 3, seed=1)
    tours, log_probs = model.rollout(points, sample=True, num_tours=4, seed=5)
    assert tours.shape == log_probs.shape == (3, 4, 30)
    assert (np.sort(tours, axis=-1) == np.arange(30)).all()
    assert (log_probs <= 0).all()
    np.testing.assert_allclose(model.log_prob(points, tours, per_step=True), log_probs, atol=1e-6)
    np.testing.assert_allclose(model.log_prob(points, tours), log_probs.sum(-1), atol=1e-5)
    assert (model.rollout(points, sample=True, num_tours=4, seed=5, threads=1).tours == tours).all()
    assert (model.rollout(points, sample=True, num_tours=4, seed=6).tours != tours).any()


def test_greedy_rollout_is_what_solve_returns(model):
    points = puretour.generate("clustered", 40, seed=2)
    result = model.solve(points)
    assert model.rollout(points).tours.tolist() == result.tour.tolist()
    assert puretour.solve(points, model=model.name).tour.tolist() == result.tour.tolist()
    assert result.length == puretour.tour_length(points, result.tour)
    better = model.solve(points, decode="multistart", augment=8, improve=True, bound=True)
    assert better.length <= better.unimproved_length <= result.length + 1e-9
    assert better.gap >= -1e-9


def test_the_probabilities_of_all_tours_add_up_to_one():
    import itertools

    model = puretour.load_model("am50-pupo")
    points = puretour.generate("uniform", 5, seed=3)
    tours = np.array(list(itertools.permutations(range(5))))
    assert np.exp(model.log_prob(points, tours)).sum() == pytest.approx(1, abs=1e-5)


def test_the_command_builds_the_same_tour(model, tmp_path):
    from pathlib import Path

    points = puretour.generate("uniform", 50, seed=4)
    puretour.write(tmp_path / "in.txt", points)
    file = Path(puretour.__file__).parent / "models" / f"{model.name}.safetensors"
    command = [sys.executable, "-m", "puretour", "solve", str(tmp_path / "in.txt"), "--model", str(file), "--json", "-q"]
    answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    assert answer[0]["length"] == pytest.approx(model.solve(points).length, rel=1e-15)


def test_unknown_and_damaged_models(tmp_path):
    with pytest.raises(puretour.InputError, match="there is no network 'nobody'.*am50-pupo"):
        puretour.load_model("nobody")
    (tmp_path / "bad.safetensors").write_bytes(b"nothing of use")
    with pytest.raises(puretour.ModelError, match="bad.safetensors"):
        puretour.load_model(tmp_path / "bad.safetensors")
    with pytest.raises(puretour.InputError):
        puretour.load_model(3.5)
