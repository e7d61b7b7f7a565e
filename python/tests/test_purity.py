"""Purity, PUPO weights and the law against the definitions."""

import subprocess
import sys

import numpy as np
import oracles
import pytest

import puretour

# The hand-checked example: a, b, c, d, e, and the tour a, c, b, e, d.
HAND_POINTS = [(0, 0), (4, 0), (2, 1), (2, -3), (7, 1)]
HAND_TOUR = [0, 2, 1, 4, 3]


def test_orders_of_the_hand_example():
    # c lies in the circle on ab; b and c in that on ae; b in those on ce and de.
    expected = [
        [0, 1, 0, 0, 2],
        [1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
        [0, 0, 0, 0, 1],
        [2, 0, 1, 1, 0],
    ]
    orders = puretour.purity_orders(HAND_POINTS)
    assert orders.dtype == np.uint16
    assert orders.tolist() == expected


@pytest.mark.parametrize("discount", [1, 0.5])
def test_paper_weights_of_the_hand_example(discount):
    # U_1 = {b,c,d,e}: every node has a neighbour of order 0; U_2 = {b,d,e}: b-d, b-e are pure; U_3 = {d,e}: K(d,e) = 1.
    phi = [0, 0, 1, 0, 0]
    # C_t = K(edge t) + phi(U_t+1) - phi(U_t), the edges being ac 0, cb 0, be 0, ed 1, da 0.
    costs = [0 + 0 - 0, 0 + 1 - 0, 0 + 0 - 1, 1 + 0 - 0, 0]
    sums = [0.0] * 6
    for t in range(4, -1, -1):
        sums[t] = costs[t] + discount * sums[t + 1]
    trace = puretour.pupo_trace(HAND_POINTS, HAND_TOUR, discount)
    assert trace.availabilities.tolist() == phi
    assert trace.costs.tolist() == costs
    assert trace.weights.tolist() == [1] + [1 + s for s in sums[:4]]
    expected = {1: [1, 2, 2, 1, 2], 0.5: [1, 1.375, 1.75, 0.5, 2]}[discount]
    assert trace.weights.tolist() == expected
    assert puretour.pupo_weights(HAND_POINTS, HAND_TOUR, discount).tolist() == expected


def test_authors_weights_of_the_hand_example():
    # One step late: U_0 are all nodes, phi(U_0) = 0. The last choice pays for the closing edge da only, order 0.
    costs = [0 + 0 - 0, 0 + 0 - 0, 0 + 1 - 0, 0, 0]
    trace = puretour.pupo_trace(HAND_POINTS, HAND_TOUR, 1, "authors")
    assert trace.costs.tolist() == costs
    assert trace.weights.tolist() == [1, 2, 2, 2, 1]


@pytest.mark.parametrize("variant", ["paper", "authors"])
@pytest.mark.parametrize("nodes", [2, 3, 4, 9, 14])
def test_pupo_equals_the_definition(nodes, variant):
    rng = np.random.default_rng(nodes)
    for _ in range(10):
        points = rng.integers(0, 12, (nodes, 2))
        tour = rng.permutation(nodes)
        trace = puretour.pupo_trace(points, tour, 0.9, variant)
        phi, costs, weights = oracles.pupo(points.tolist(), tour.tolist(), 0.9, variant)
        np.testing.assert_allclose(trace.availabilities, phi, atol=1e-12)
        np.testing.assert_allclose(trace.costs, costs, atol=1e-12)
        np.testing.assert_allclose(trace.weights, weights, atol=1e-9)
        assert (puretour.pupo_weights(points, tour, 0.9, variant) == trace.weights.astype(np.float32)).all()


def test_weights_of_a_batch_are_those_of_its_tours():
    points = puretour.generate("uniform", 30, 5, seed=1)
    rng = np.random.default_rng(1)
    tours = np.array([[rng.permutation(30) for _ in range(4)] for _ in range(5)])
    weights = puretour.pupo_weights(points, tours)
    assert weights.shape == (5, 4, 30) and weights.dtype == np.float32
    for b in range(5):
        assert (puretour.pupo_weights(points[b], tours[b]) == weights[b]).all()
        for s in range(4):
            assert (puretour.pupo_weights(points[b], tours[b, s]) == weights[b, s]).all()
    assert (puretour.pupo_weights(points, tours, threads=1) == weights).all()
    assert (puretour.pupo_weights(points, tours, clamp=True) == np.maximum(weights, 0)).all()


def test_orders_equal_the_definition():
    points = np.random.default_rng(2).integers(0, 15, (25, 2))
    expected = [[oracles.purity_order(points.tolist(), i, j) for j in range(25)] for i in range(25)]
    assert puretour.purity_orders(points).tolist() == expected
    assert puretour.purity_orders(np.stack([points, points]))[1].tolist() == expected
    tour = np.random.default_rng(3).permutation(25)
    purity = puretour.purity(points, tour)
    assert purity.orders.tolist() == [expected[a][b] for a, b in zip(tour, np.roll(tour, -1))]
    graph = puretour.gabriel_graph(points, 2)
    pairs = [(i, j, expected[i][j]) for i in range(25) for j in range(i + 1, 25) if expected[i][j] <= 2]
    assert [(i, j, k) for (i, j), k in zip(graph.edges.tolist(), graph.orders.tolist())] == pairs


def test_metrics_of_a_tour_and_of_a_batch():
    points = puretour.generate("clustered", 60, 3, seed=4)
    tours = puretour.solve_many(points, method="nearest").tours
    purity = puretour.purity(points, tours)
    orders = purity.orders
    assert orders.shape == (3, 60)
    assert purity.histogram.tolist() == np.bincount(orders.ravel()).tolist()
    assert purity.prop_0 == np.mean(orders == 0)
    assert purity.apo == pytest.approx(orders.mean())
    assert purity.apo_non_0 == pytest.approx(orders[orders > 0].mean())
    assert purity.apo == pytest.approx((1 - purity.prop_0) * purity.apo_non_0)
    for b in range(3):
        one = puretour.purity(points[b], tours[b])
        assert (one.orders == orders[b]).all()
        assert purity.histograms[b, : len(one.histogram)].tolist() == one.histogram.tolist()


def test_a_tour_of_pure_edges_has_no_apo_non_0():
    purity = puretour.purity([[0, 0], [1, 0], [1, 1], [0, 1]], [0, 1, 2, 3])
    assert (purity.prop_0, purity.apo, purity.apo_non_0) == (1, 0, None)


def test_law_fit_recovers_its_parameters():
    shares = 0.92 * np.exp(-2.6 * np.arange(5))
    fit = puretour.law_fit(np.round(shares * 10**12).astype(np.int64))
    total = np.round(shares * 10**12).sum() / 10**12
    assert fit.alpha == pytest.approx(0.92 / total, rel=1e-6)
    assert fit.beta == pytest.approx(2.6, rel=1e-6)
    assert fit.log_linear.beta == pytest.approx(2.6, rel=1e-4)
    assert fit.alpha_interval is None


def test_law_of_near_optimal_tours():
    points = puretour.generate("uniform", 100, 32, seed=5)
    purity = puretour.purity(points, puretour.solve_many(points).tours)
    fit = puretour.law_fit(purity, rounds=200)
    assert 0.88 < fit.alpha < 0.95 and 2.2 < fit.beta < 3.0
    assert fit.alpha_interval[0] < fit.alpha < fit.alpha_interval[1]
    one_by_one = [puretour.purity(p, t) for p, t in zip(points, puretour.solve_many(points).tours)]
    assert repr(puretour.law_fit(one_by_one, rounds=200)) == repr(fit)


@pytest.mark.parametrize("discount", [0, 0.8, 1])
def test_weights_are_those_of_the_command_bit_by_bit(discount, tmp_path):
    points = puretour.generate("explosion", 60, seed=8)
    tour = np.random.default_rng(8).permutation(60)
    puretour.write(tmp_path / "tour.npz", points[None], tour[None])
    options = ["--weights", str(tmp_path / "weights.csv"), "--discount", str(discount)]
    command = [sys.executable, "-m", "puretour", "purity", str(tmp_path / "tour.npz"), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    table = np.genfromtxt(tmp_path / "weights.csv", delimiter=",", names=True)
    trace = puretour.pupo_trace(points, tour, discount)
    assert (table["node"].astype(int) - 1 == tour).all()
    assert (table["weight"] == trace.weights).all()
    assert (table["availability_after"] == trace.availabilities).all()
    assert (table["cost_of_next_edge"] == trace.costs).all()
    assert (puretour.pupo_weights(points, tour, discount) == trace.weights.astype(np.float32)).all()
