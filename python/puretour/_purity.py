"""Purity orders, k-Gabriel graphs, PUPO weights and the fit of the law."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from . import _arrays, _core
from ._core import InputError
from ._results import ExponentialFit, GabrielGraph, LawFit, PupoTrace, Purity

VARIANTS = ("paper", "authors")


def purity(points: Any, tours: Any, *, threads: int = 0) -> Purity:
    """The purity order of every edge of tours, and Prop-0 and APO over all of them.

    Args:
        points: (N, 2) or (B, N, 2), N at least 2.
        tours: (N,) or (S, N) for one instance; (B, N) or (B, S, N) for a batch.

    Returns:
        ``Purity``; ``orders[..., t]`` belongs to the edge from ``tours[..., t]`` to its successor.

    >>> import puretour
    >>> points = puretour.generate("uniform", 1000, seed=1)
    >>> puretour.purity(points, puretour.solve(points, time_limit=1).tour).prop_0 > 0.9
    True
    """
    array, orders = _arrays.points_and_tours(points, tours, least_nodes=2)
    measured = _core.tour_orders(array, orders, _arrays.threads(threads))
    rows = measured.reshape(-1, measured.shape[-1])
    if len(rows) == 0:
        raise InputError(f"tours has shape {_arrays.shape_text(orders.shape)}; wanted: at least one tour")
    highest = int(rows.max())
    keys = rows + np.arange(len(rows))[:, None] * (highest + 1)
    histograms = np.bincount(keys.ravel(), minlength=len(rows) * (highest + 1)).reshape(len(rows), highest + 1)
    histogram = histograms.sum(axis=0)
    edges = rows.size
    impure = edges - int(histogram[0])
    total = int(rows.sum())
    return Purity(
        orders=_arrays.like(points, tours)(measured),
        histogram=histogram,
        prop_0=int(histogram[0]) / edges,
        apo=total / edges,
        apo_non_0=total / impure if impure > 0 else None,
        histograms=histograms,
    )


def purity_orders(points: Any, *, threads: int = 0) -> Any:
    """The purity orders of all pairs of nodes: how many nodes lie inside the circle with the pair as diameter.

    Args:
        points: (N, 2) or (B, N, 2), N at most 30,000.

    Returns:
        uint16 array, (N, N) or (B, N, N); symmetric, 0 on the diagonal. (int32 for a tensor.)

    >>> import puretour
    >>> puretour.purity_orders([[0, 0], [4, 0], [2, 1]])[0]
    array([0, 1, 0], dtype=uint16)
    """
    array = _arrays.points(points)
    single = array.ndim == 2
    orders: Any = _core.purity_orders(array[None] if single else array, _arrays.threads(threads))
    if _arrays.is_torch(points):
        orders = orders.astype(np.int32)  # older versions of torch have no unsigned integers
    return _arrays.like(points)(orders[0] if single else orders)


def gabriel_graph(points: Any, max_order: int = 0, *, threads: int = 0) -> GabrielGraph:
    """All pairs of nodes whose purity order is at most ``max_order``: the k-Gabriel graph.

    Args:
        points: (N, 2).

    Returns:
        ``GabrielGraph(edges, orders)``: (M, 2) and (M,), sorted; about 2 (max_order + 1) N edges on random points.

    >>> import puretour
    >>> puretour.gabriel_graph([[0, 0], [4, 0], [2, 1]]).edges
    array([[0, 2],
           [1, 2]])
    """
    array = _arrays.points(points, "(N, 2)", batch=False)
    limit = _arrays.integer(max_order, "max_order", 0, 2**32 - 1)
    edges, orders = _core.gabriel_graph(array, limit, _arrays.threads(threads))
    convert = _arrays.like(points)
    return GabrielGraph(convert(edges), convert(orders))


def pupo_weights(
    points: Any, tours: Any, discount: float = 0.9, variant: str = "paper", *, clamp: bool = False, threads: int = 0
) -> Any:
    """The weights W of Purity Policy Optimization: they multiply log p of every step in the policy gradient.

    Args:
        points: (N, 2) or (B, N, 2), the coordinates before any augmentation.
        tours: (N,) or (S, N) for one instance; (B, N) or (B, S, N) for a batch.
        discount: of later costs, 0 to 1.
        variant: "paper" (the definition) or "authors" (what the authors' program computes).
        clamp: raise negative weights to 0.
        threads: 0 is one for every core. The result does not depend on it.

    Returns:
        float32 of the shape of ``tours``: weight [..., t] belongs to the choice of node ``tours[..., t]``; the first is 1.
        A tensor on the same device for tensors. No gradients flow through it.

    In a REINFORCE loop, with log-probabilities (B, N) of the steps:
    ``loss = (advantage * (puretour.pupo_weights(points, tours) * log_probs).sum(1)).mean()``

    >>> import puretour
    >>> puretour.pupo_weights([[0, 0], [4, 0], [2, 1], [2, -3], [7, 1]], [0, 2, 1, 4, 3], discount=0.5).shape
    (5,)
    """
    array, orders = _arrays.points_and_tours(points, tours)
    weights = _core.pupo_weights(
        array,
        orders,
        _arrays.real(discount, "discount", 0, 1),
        _arrays.text(variant, "variant", VARIANTS),
        _arrays.boolean(clamp, "clamp"),
        _arrays.threads(threads),
    )
    return _arrays.like(points, tours)(weights)


def pupo_trace(
    points: Any, tour: Any, discount: float = 0.9, variant: str = "paper", *, clamp: bool = False
) -> PupoTrace:
    """Availabilities, costs and weights of every step of one tour, in double: to look at and to learn from.

    >>> import puretour
    >>> puretour.pupo_trace([[0, 0], [4, 0], [2, 1]], [0, 1, 2], discount=1).costs
    array([1., 0., 0.])
    """
    array = _arrays.points(points, "(N, 2)", batch=False)
    order = _arrays.integers(tour, "tour", f"({len(array)},)")
    if order.shape != (len(array),):
        raise InputError(f"tour has shape {_arrays.shape_text(order.shape)}; wanted: ({len(array)},)")
    return PupoTrace(
        *_core.pupo_trace(
            array,
            order,
            _arrays.real(discount, "discount", 0, 1),
            _arrays.text(variant, "variant", VARIANTS),
            _arrays.boolean(clamp, "clamp"),
        )
    )


def _counts(tours: Any) -> Optional[_arrays.Integers]:
    """Edges by order, a row for each instance, from what law_fit() takes."""
    if isinstance(tours, Purity):
        return tours.histograms.astype(np.int64)
    if isinstance(tours, (list, tuple)) and len(tours) > 0 and all(isinstance(entry, Purity) for entry in tours):
        width = max(entry.histograms.shape[1] for entry in tours)
        rows = [np.pad(entry.histograms, ((0, 0), (0, width - entry.histograms.shape[1]))) for entry in tours]
        return np.concatenate(rows).astype(np.int64)
    return None


def law_fit(tours: Any, *, rounds: int = 1000, seed: int = 0) -> LawFit:
    """Fits the Purity Law y(k) = alpha exp(-beta k) to edges pooled over tours.

    Args:
        tours: a ``Purity`` (of a batch), a sequence of them, or counts of edges by order, (K,) or (B, K).
        rounds: of the bootstrap over instances that gives the intervals; 0: none.
        seed: of the bootstrap.

    Returns:
        ``LawFit``; the paper finds alpha near 0.92 and beta near 2.63 for optimal tours.

    >>> import puretour
    >>> points = puretour.generate("uniform", 100, count=64, seed=1)
    >>> fit = puretour.law_fit(puretour.purity(points, puretour.solve_many(points).tours))
    >>> round(fit.alpha, 1), round(fit.beta, 1)
    (0.9, 2.6)
    """
    counts = _counts(tours)
    if counts is None:
        wanted = "a Purity, a sequence of them, or counts by order, (K,) or (B, K)"
        counts = _arrays.integers(tours, "tours", wanted)
        if counts.ndim == 1:
            counts = counts[None]
        if counts.ndim != 2 or counts.size == 0 or counts.shape[1] > 2**31:
            raise InputError(f"tours has shape {_arrays.shape_text(counts.shape)}; wanted: {wanted}")
        if counts.max() > 2**50:
            raise InputError(f"tours counts {counts.max()} edges; wanted: at most 2^50")
    fields = _core.law_fit(
        np.ascontiguousarray(counts), _arrays.integer(rounds, "rounds", 0, 1_000_000), _arrays.seed(seed)
    )
    if fields["fit"] is None:
        raise InputError("tours has edges of order 0 only (or one order): every large beta fits; take more tours")
    log_linear = fields["log_linear"]
    return LawFit(
        shares=fields["shares"],
        log_linear=None if log_linear is None else ExponentialFit(**log_linear),
        alpha_interval=fields["alpha_interval"],
        beta_interval=fields["beta_interval"],
        **fields["fit"],
    )
