"""PureTour: near-optimal TSP tours, labels for training, the Purity Law, and PUPO weights for anyone's network.

Arrays go in and out as NumPy; lists, tensors of PyTorch and everything with ``__array__`` or DLPack is taken, and tensors
come back as tensors. Nodes are counted from 0. Bad arguments raise ``InputError``, a ``ValueError``.

>>> import puretour
>>> points = puretour.generate("uniform", nodes=100, seed=1)
>>> result = puretour.solve(points)
>>> purity = puretour.purity(points, result.tour)
>>> purity.prop_0 > 0.8
True
"""

from ._core import Error, InputError, Instance, ModelError
from ._instances import generate, instance, read, read_tour, write, write_tour
from ._models import Model, load_model, models
from ._purity import gabriel_graph, law_fit, pupo_trace, pupo_weights, purity, purity_orders
from ._results import (
    ExponentialFit,
    GabrielGraph,
    LawFit,
    ManyResult,
    PupoTrace,
    Purity,
    Result,
    Rollout,
    Sample,
)
from ._solve import complete_tour, solve, solve_many, tour_length
from ._versions import __version__, show_versions

__all__ = [
    "Error",
    "ExponentialFit",
    "GabrielGraph",
    "InputError",
    "Instance",
    "LawFit",
    "ManyResult",
    "Model",
    "ModelError",
    "PupoTrace",
    "Purity",
    "Result",
    "Rollout",
    "Sample",
    "__version__",
    "complete_tour",
    "gabriel_graph",
    "generate",
    "instance",
    "law_fit",
    "load_model",
    "models",
    "pupo_trace",
    "pupo_weights",
    "purity",
    "purity_orders",
    "read",
    "read_tour",
    "show_versions",
    "solve",
    "solve_many",
    "tour_length",
    "write",
    "write_tour",
]
