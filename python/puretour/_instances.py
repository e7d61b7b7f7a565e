"""Instances: made from arrays, generated, read from files and written to them."""

from __future__ import annotations

import os
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _arrays, _core
from ._core import InputError, Instance
from ._results import Sample

PathLike = Union[str, "os.PathLike[str]"]

DISTRIBUTIONS = ("uniform", "clustered", "explosion", "implosion")
FORMATS = ("tsplib", "lines", "npy", "npz")


def generate(
    distribution: str = "uniform",
    nodes: int = 100,
    count: Optional[int] = None,
    seed: int = 0,
    *,
    normalise: bool = True,
    float32: bool = True,
    clusters: int = 3,
    threads: int = 0,
) -> Any:
    """Random instances, the same bits on every machine: instance i of a seed never changes.

    Args:
        distribution: "uniform", "clustered", "explosion" or "implosion", with the constants of the INViT test sets.
        nodes: N.
        count: B; None gives one instance without a batch dimension.
        normalise: move and scale to the unit square, as published test sets are; False leaves points as drawn.
        float32: round coordinates to float32 values, which a network sees unchanged.
        clusters: number of centres of "clustered".
        threads: 0 is one for every core. The result does not depend on it.

    Returns:
        float64 array of shape (B, N, 2), or (N, 2) without ``count``.

    >>> import puretour
    >>> puretour.generate("clustered", nodes=50, count=4, seed=1).shape
    (4, 50, 2)
    """
    _arrays.text(distribution, "distribution", DISTRIBUTIONS)
    result = _core.generate(
        distribution,
        _arrays.integer(nodes, "nodes", 1, _arrays.MAX_NODES),
        1 if count is None else _arrays.integer(count, "count", 0, 2**40),
        _arrays.seed(seed),
        _arrays.boolean(normalise, "normalise"),
        _arrays.boolean(float32, "float32"),
        _arrays.integer(clusters, "clusters", 1, 2**31 - 1),
        _arrays.threads(threads),
    )
    return result[0] if count is None else result


def instance(
    points: Any = None, *, distance_matrix: Any = None, metric: str = "EUC_2D_REAL", fixed_edges: Any = None, name: str = ""
) -> Instance:
    """An instance from coordinates (N, 2) or from a symmetric matrix of distances (N, N).

    Args:
        metric: "EUC_2D_REAL" (plain Euclidean) or a TSPLIB metric: EUC_2D, CEIL_2D, MAN_2D, MAX_2D, ATT, GEO.
        fixed_edges: pairs of nodes, (M, 2), that every tour has to visit one after the other.

    >>> import puretour
    >>> puretour.instance([[0, 0], [3, 4]], metric="EUC_2D").distance(0, 1)
    5.0
    """
    _arrays.text(metric, "metric")
    _arrays.text(name, "name")
    if (points is None) == (distance_matrix is None):
        raise InputError("wanted: either points, (N, 2), or distance_matrix, (N, N)")
    if distance_matrix is None:
        made = Instance.from_points(_arrays.points(points, "(N, 2)", batch=False), metric, name)
    else:
        matrix = _arrays.floats(distance_matrix, "distance_matrix", "(N, N)")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
            raise InputError(
                f"distance_matrix has shape {_arrays.shape_text(matrix.shape)}; wanted: (N, N), at least one node"
            )
        made = Instance.from_matrix(matrix, name)
    return made if fixed_edges is None else with_fixed_edges(made, fixed_edges)


def with_fixed_edges(made: Instance, fixed_edges: Any) -> Instance:
    edges = _arrays.integers(fixed_edges, "fixed_edges", "(M, 2)")
    if edges.size == 0:
        edges = edges.reshape(0, 2)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise InputError(f"fixed_edges has shape {_arrays.shape_text(edges.shape)}; wanted: (M, 2)")
    return made.with_fixed_edges(edges)


def as_instance(problem: Any, distance_matrix: Any = None, fixed_edges: Any = None) -> Instance:
    """What solve() takes: an instance, a path, coordinates (N, 2), or distances (N, N) of three and more nodes."""
    if problem is None or distance_matrix is not None:
        return instance(problem, distance_matrix=distance_matrix, fixed_edges=fixed_edges)
    if isinstance(problem, (str, os.PathLike)):
        samples = read(problem)
        if len(samples) != 1:
            raise InputError(f"{os.fspath(problem)} holds {len(samples)} instances; read() them and use solve_many()")
        problem = samples[0].instance
    if isinstance(problem, Instance):
        return problem if fixed_edges is None else with_fixed_edges(problem, fixed_edges)
    array = _arrays.floats(problem, "points", "(N, 2), or distances (N, N)")
    if array.ndim == 2 and array.shape[1] != 2 and array.shape[0] == array.shape[1]:
        return instance(distance_matrix=array, fixed_edges=fixed_edges)
    if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0:
        raise InputError(
            f"points has shape {_arrays.shape_text(array.shape)}; wanted: (N, 2), or a distance matrix (N, N), "
            "at least one node"
        )
    return instance(array, fixed_edges=fixed_edges)


def _path(path: Any) -> str:
    try:
        text = os.fspath(path)
    except TypeError:
        raise InputError(f"path is {path!r}; wanted: a path") from None
    if not isinstance(text, str) or "\0" in text:
        raise InputError(f"path is {path!r}; wanted: a path")
    return text


def _format(format: Optional[str]) -> Optional[str]:
    return None if format is None else _arrays.text(format, "format", FORMATS)


def read(path: PathLike, format: Optional[str] = None) -> list[Sample]:
    """All instances of a file, with their tours if it has them: TSPLIB, one instance per line, .npy, .npz.

    Args:
        format: "tsplib", "lines", "npy" or "npz"; None: the extension or the content decides.

    Returns:
        A list of ``Sample(instance, tour)``; ``tour`` is an array (N,) or None.

    >>> import os, puretour, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "four.tsp")
    >>> puretour.write(path, puretour.instance([[0, 0], [3, 0], [3, 4], [0, 4]], metric="EUC_2D"))
    >>> puretour.read(path)[0].instance
    <puretour.Instance 4 nodes, EUC_2D>
    """
    return [Sample(*sample) for sample in _core.read(_path(path), _format(format))]


def write(
    path: PathLike,
    instances: Any,
    tours: Any = None,
    format: Optional[str] = None,
    *,
    float32: bool = False,
) -> None:
    """Writes instances, with or without tours: .tsp (one instance, no tour), .txt (one per line), .npy, .npz.

    Args:
        instances: an ``Instance``, coordinates (N, 2) or (B, N, 2), or a sequence of instances or of coordinates.
        tours: (N,) for one instance, else (B, N) or a sequence.
        float32: coordinates in single precision (.npy, .npz).
    """
    several = False
    if isinstance(instances, Instance):
        made = [instances]
    elif isinstance(instances, (list, tuple)) and len(instances) > 0 and isinstance(instances[0], (Instance, Sample)):
        made = [entry.instance if isinstance(entry, Sample) else as_instance(entry) for entry in instances]
        several = True
    elif isinstance(instances, (list, tuple)) and len(instances) > 0 and np.ndim(instances[0]) == 2:
        made = [as_instance(entry) for entry in instances]
        several = True
    else:
        array = _arrays.points(instances)
        several = array.ndim == 3
        made = [as_instance(entry) for entry in (array if several else array[None])]
    given: list[Optional[_arrays.Integers]] = [None] * len(made)
    if tours is not None:
        entries: Sequence[Any] = tours if several else [tours]
        if not hasattr(entries, "__len__") or len(entries) != len(made):
            raise InputError(f"tours holds another number of tours than there are instances ({len(made)})")
        given = [_tour(entry, len(one)) for entry, one in zip(entries, made)]
    _core.write(_path(path), _format(format), made, given, _arrays.boolean(float32, "float32"))


def _tour(value: Any, nodes: int, name: str = "tours") -> _arrays.Integers:
    tour = _arrays.integers(value, name, f"({nodes},)")
    if tour.shape != (nodes,):
        raise InputError(f"{name} has shape {_arrays.shape_text(tour.shape)}; wanted: ({nodes},)")
    return tour


def read_tour(path: PathLike, nodes: Optional[int] = None) -> _arrays.Integers:
    """The tour of a TSPLIB .tour file as an array (N,), nodes counted from 0."""
    return _core.read_tour(_path(path), None if nodes is None else _arrays.integer(nodes, "nodes", 1, _arrays.MAX_NODES))


def write_tour(path: PathLike, tour: Any, name: str = "tour", length: Optional[float] = None) -> None:
    """Writes a tour (N,) as a TSPLIB .tour file, in normal form: from the first node towards its lower neighbour."""
    array = _arrays.integers(tour, "tour", "(N,)")
    if array.ndim != 1 or len(array) == 0:
        raise InputError(f"tour has shape {_arrays.shape_text(array.shape)}; wanted: (N,), at least one node")
    limit = None if length is None else _arrays.real(length, "length", -1e300, 1e300)
    _core.write_tour(_path(path), array, _arrays.text(name, "name"), limit)
