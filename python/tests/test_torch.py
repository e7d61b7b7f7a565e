"""Tensors in, tensors out; PUPO in a training loop."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import puretour

torch = pytest.importorskip("torch", reason="torch is not installed")

POINTS = puretour.generate("uniform", 20, 4, seed=1)
TOURS = np.array([np.random.default_rng(b).permutation(20) for b in range(4)])


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_tensors_come_back_as_tensors(kind):
    points = torch.tensor(POINTS).to(kind).requires_grad_()
    plain = points.detach().double().numpy()
    weights = puretour.pupo_weights(points, torch.tensor(TOURS))
    assert isinstance(weights, torch.Tensor) and weights.dtype == torch.float32 and not weights.requires_grad
    assert (weights.numpy() == puretour.pupo_weights(plain, TOURS)).all()
    assert isinstance(puretour.tour_length(points, TOURS), torch.Tensor)
    assert isinstance(puretour.purity_orders(points), torch.Tensor)
    assert isinstance(puretour.solve(points[0]).tour, torch.Tensor)
    labels = puretour.solve_many(points)
    assert isinstance(labels.tours, torch.Tensor) and labels.tours.dtype == torch.int64
    assert labels.tours.tolist() == puretour.solve_many(plain).tours.tolist()
    assert isinstance(puretour.load_model("am50-pupo").rollout(points).tours, torch.Tensor)


def test_tensors_that_are_views_and_wrong_ones():
    points = torch.tensor(POINTS).permute(1, 0, 2)
    weights = puretour.pupo_weights(points.transpose(0, 1), torch.tensor(TOURS).int())
    assert (weights.numpy() == puretour.pupo_weights(POINTS, TOURS)).all()
    with pytest.raises(puretour.InputError, match=r"tours has shape \(20, 4\)"):
        puretour.pupo_weights(POINTS, torch.tensor(TOURS).T)
    with pytest.raises(puretour.InputError, match="wanted: integers"):
        puretour.pupo_weights(POINTS, torch.tensor(TOURS).float())
    with pytest.raises(puretour.InputError, match="points is no array"):
        puretour.pupo_weights(torch.empty((4, 20, 2), device="meta"), TOURS)


def test_the_gradient_is_the_weighted_sum_of_the_gradients_of_the_steps():
    torch.manual_seed(0)
    logits = torch.randn(4, 20, requires_grad=True)
    advantage = torch.randn(4)
    weights = puretour.pupo_weights(torch.tensor(POINTS), torch.tensor(TOURS))
    (advantage * (weights * torch.log_softmax(logits, 1)).sum(1)).mean().backward()
    probabilities = torch.softmax(logits.detach(), 1)
    expected = advantage[:, None] / 4 * (weights - probabilities * weights.sum(1, keepdim=True))
    torch.testing.assert_close(logits.grad, expected)


def test_the_example_runs(capsys):
    example = Path(__file__).parents[1] / "examples" / "pupo_in_reinforce.py"
    assert len(example.read_text().splitlines()) <= 40
    runpy.run_path(str(example), init_globals={}, run_name="example")["train"](steps=3, batch=8, nodes=10)
    assert "mean length" in capsys.readouterr().out


def test_the_example_for_rl4co(tmp_path, monkeypatch):
    pytest.importorskip("rl4co", reason="rl4co is not installed")
    monkeypatch.chdir(tmp_path)  # Lightning writes logs
    example = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "pupo_in_rl4co.py"), run_name="example")
    env = example["TSPEnv"](generator_params={"num_loc": 12})
    policy = example["PupoPolicy"](env_name=env.name, num_encoder_layers=1)
    td = env.reset(batch_size=[4])
    weighted = policy(td.clone(), env, decode_type="greedy", phase="train")
    plain = example["AttentionModelPolicy"].forward(
        policy, td.clone(), env, decode_type="greedy", return_actions=True, return_sum_log_likelihood=False
    )
    weights = puretour.pupo_weights(td["locs"], plain["actions"])
    torch.testing.assert_close(weighted["log_likelihood"], (weights * plain["log_likelihood"]).sum(1))
    example["train"](nodes=6, instances=32, batch=16)
