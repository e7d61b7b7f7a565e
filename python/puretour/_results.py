"""What the functions of the package return, with pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from . import _core

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Pure edges recede; the others stand out more, the more nodes lie in their circles.
_ORDER_COLOURS = ("#4a6fa5", "#e6a23c", "#d9534f", "#8e1b3a")


def _axes(ax: Optional[Axes]) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
    axes: Axes = plt.subplots()[1]
    return axes


def _plot_tour(points: Any, tour: Any, ax: Optional[Axes], title: str, orders: Optional[Any] = None) -> Axes:
    """Draws a closed tour; edges in the colour of their purity order."""
    axes = _axes(ax)
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    coordinates = np.asarray(points)
    closed = coordinates[np.append(tour, tour[0])]
    if orders is None and len(tour) >= 2:
        orders = _core.tour_orders(coordinates[None], np.asarray(tour, np.int64)[None, None], 0)[0, 0]
    kinds = np.minimum(np.zeros(len(tour), np.int64) if orders is None else orders, len(_ORDER_COLOURS) - 1)
    segments = np.stack([closed[:-1], closed[1:]], axis=1)
    handles = []
    for kind, colour in enumerate(_ORDER_COLOURS):
        of_kind = segments[kinds == kind]
        if len(of_kind) == 0:
            continue
        axes.add_collection(LineCollection(list(of_kind), colors=colour, linewidths=1.2 if kind == 0 else 2.0))
        more = " or more" if kind == len(_ORDER_COLOURS) - 1 else ""
        handles.append(Line2D([], [], color=colour, label=f"order {kind}{more}: {len(of_kind)}"))
    if len(coordinates) <= 2000:
        axes.scatter(coordinates[:, 0], coordinates[:, 1], s=9, color="#222222", zorder=3)
    axes.autoscale_view()
    axes.set_aspect("equal")
    axes.set_title(title)
    axes.legend(handles=handles, loc="best", fontsize="small")
    return axes


@dataclass(frozen=True, eq=False)
class Result:
    """A tour and what is known about it.

    Attributes:
        tour: nodes in visiting order, (N,); an int64 array, or a tensor where one was given.
        length: of the closed tour, in the metric of the instance.
        seconds: wall time of the search.
        method: what found it: "exact", "eax", "lk", "am greedy", ...
        bound: a length that no tour can beat, if it was asked for (``bound=True``).
        bound_is_proven: False above 30,000 nodes, where the bound is an estimate.
        unimproved_length: of the network's own tour, where a local search followed (``improve=True``).
        points: coordinates, (N, 2), or None.

    >>> import puretour
    >>> puretour.solve([[0, 0], [1, 0], [0, 1], [1, 1]]).length
    4.0
    """

    tour: Any
    length: float
    seconds: float
    method: str
    bound: Optional[float] = None
    bound_is_proven: bool = False
    unimproved_length: Optional[float] = None
    points: Optional[npt.NDArray[np.float64]] = field(default=None, repr=False, compare=False)

    @property
    def gap(self) -> Optional[float]:
        """The tour is at most this share longer than an optimal one (0.006 is 0.6 %); None without a bound."""
        if self.bound is None or self.bound <= 0:
            return None
        return self.length / self.bound - 1

    def plot(self, ax: Optional[Axes] = None) -> Axes:
        """Draws the tour, edges in the colour of their purity order. Needs matplotlib and coordinates."""
        if self.points is None:
            raise _core.InputError("plot() needs coordinates, but the instance is a distance matrix")
        return _plot_tour(self.points, np.asarray(self.tour), ax, f"{self.method}: {self.length:.10g}")


@dataclass(frozen=True, eq=False)
class ManyResult:
    """Tours of many instances.

    Attributes:
        tours: (B, N), or a list of (N_b,) where sizes differ.
        lengths: (B,).
        seconds: wall time of everything.
    """

    tours: Any
    lengths: Any
    seconds: float


@dataclass(frozen=True, eq=False)
class Purity:
    """Purity orders of tours, and the metrics of the paper, pooled over all of them.

    Attributes:
        orders: nodes inside the circle of each edge (tour[t], tour[t + 1]), the closing edge last; the shape of the tours.
        histogram: edges by order, (K,), pooled.
        prop_0: share of pure edges (order 0).
        apo: APO(all), mean order of all edges.
        apo_non_0: APO(non-0), mean over edges of order 1 and more; None if there is none.
        histograms: edges by order for each tour, (B, K).

    >>> import puretour
    >>> puretour.purity([[0, 0], [4, 0], [2, 1], [2, -3], [7, 1]], [0, 2, 1, 4, 3]).orders
    array([0, 0, 0, 1, 0])
    """

    orders: Any
    histogram: npt.NDArray[np.int64]
    prop_0: float
    apo: float
    apo_non_0: Optional[float]
    histograms: npt.NDArray[np.int64] = field(repr=False)

    def plot(self, ax: Optional[Axes] = None) -> Axes:
        """Draws the share of edges by order, with the curve of the Purity Law. Needs matplotlib."""
        axes = _axes(ax)
        shares = self.histogram / self.histogram.sum()
        axes.bar(np.arange(len(shares)), shares, color=_ORDER_COLOURS[0], label="edges")
        fit = _core.law_fit(self.histogram[None], 0, 0)["fit"]
        if fit is not None:
            k = np.linspace(0, len(shares) - 1, 200)
            label = f"{fit['alpha']:.3f} exp(-{fit['beta']:.2f} k)"
            axes.plot(k, fit["alpha"] * np.exp(-fit["beta"] * k), color=_ORDER_COLOURS[2], label=label)
        axes.set_yscale("log")
        axes.set_ylim(0.5 / self.histogram.sum(), 1.5)
        axes.set_xlabel("purity order k")
        axes.set_ylabel("share of edges")
        axes.set_title(f"Prop-0 {100 * self.prop_0:.2f} %, APO {self.apo:.4f}")
        axes.legend()
        return axes


class GabrielGraph(NamedTuple):
    """Pairs of nodes of low purity order: ``edges`` (M, 2), smaller node first, and their ``orders`` (M,)."""

    edges: Any
    orders: Any


class PupoTrace(NamedTuple):
    """Every step of one tour, (N,) each: phi(U_1) .. phi(U_N), C_1 .. C_N, W_1 .. W_N."""

    availabilities: npt.NDArray[np.float64]
    costs: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExponentialFit:
    """y(k) = alpha exp(-beta k), with its error in linear space and R^2 in the space of the fit."""

    alpha: float
    beta: float
    mean_squared_error: float
    r_squared: float


@dataclass(frozen=True, eq=False)
class LawFit:
    """The Purity Law of a set of tours.

    Attributes:
        alpha, beta: of y(k) = alpha exp(-beta k), least squares in linear space, pooled edges: the paper's fit.
        mean_squared_error: of that fit; r_squared: its R^2.
        shares: y(0), y(1), ..., (K,).
        log_linear: a straight line through ln y(k), for comparison; None with fewer than two positive shares.
        alpha_interval, beta_interval: 95 % bootstrap intervals over instances; None for a single one.
    """

    alpha: float
    beta: float
    mean_squared_error: float
    r_squared: float
    shares: npt.NDArray[np.float64] = field(repr=False)
    log_linear: Optional[ExponentialFit]
    alpha_interval: Optional[tuple[float, float]]
    beta_interval: Optional[tuple[float, float]]

    def plot(self, ax: Optional[Axes] = None) -> Axes:
        """Draws shares and curve. Needs matplotlib."""
        axes = _axes(ax)
        k = np.arange(len(self.shares))
        axes.bar(k, self.shares, color=_ORDER_COLOURS[0], label="edges")
        fine = np.linspace(0, max(len(k) - 1, 1), 200)
        label = f"{self.alpha:.3f} exp(-{self.beta:.2f} k)"
        axes.plot(fine, self.alpha * np.exp(-self.beta * fine), color=_ORDER_COLOURS[2], label=label)
        positive = self.shares[self.shares > 0]
        axes.set_yscale("log")
        axes.set_ylim(positive.min() / 3, 1.5)
        axes.set_xlabel("purity order k")
        axes.set_ylabel("share of edges")
        axes.set_title("The Purity Law")
        axes.legend()
        return axes


class Rollout(NamedTuple):
    """Tours of a network, (..., N), and the log-probability of each of their steps at temperature 1, (..., N)."""

    tours: Any
    log_probs: Any


class Sample(NamedTuple):
    """An instance of a file, with its tour (N,) or None."""

    instance: _core.Instance
    tour: Optional[npt.NDArray[np.int64]]
