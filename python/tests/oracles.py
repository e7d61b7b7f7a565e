"""Straight from the definitions, slow and short: what the C++ library is compared with."""

from __future__ import annotations

import itertools
import math


def purity_order(points, i, j):
    """Nodes strictly inside the circle with diameter ij."""
    (ax, ay), (bx, by) = points[i], points[j]
    return sum((ax - x) * (bx - x) + (ay - y) * (by - y) < 0 for x, y in points)


def tour_length(points, tour):
    return sum(math.dist(points[a], points[b]) for a, b in zip(tour, list(tour[1:]) + [tour[0]]))


def shortest_tour_length(points, prefix=()):
    rest = [node for node in range(len(points)) if node not in prefix]
    return min(tour_length(points, list(prefix) + list(order)) for order in itertools.permutations(rest))


def availability(points, unvisited):
    if len(unvisited) < 2:
        return 0.0
    return sum(min(purity_order(points, i, j) for j in unvisited if j != i) for i in unvisited) / len(unvisited)


def pupo(points, tour, discount, variant="paper"):
    """Availabilities, costs and weights of one tour; index t - 1 is the paper's t."""
    n = len(tour)
    left = [[node for node in range(n) if node not in tour[:t]] for t in range(n + 1)]
    phi = [availability(points, unvisited) for unvisited in left]  # phi[t] is phi(U_t)
    order = [purity_order(points, tour[t - 1], tour[t % n]) for t in range(1, n + 1)]  # of edge t
    if variant == "paper":
        costs = [order[t - 1] + phi[t + 1] - phi[t] for t in range(1, n)] + [order[n - 1]]
    else:
        costs = [order[t - 1] + phi[t] - phi[t - 1] for t in range(1, n - 1)] + [order[n - 1], 0]
    sums = [0.0] * (n + 1)
    for t in range(n - 1, -1, -1):
        sums[t] = costs[t] + discount * sums[t + 1]
    return phi[1:], costs, [1.0] + [1 + s for s in sums[: n - 1]]
