"""Tours: of one instance, of many small ones, completed from their beginnings; and lengths."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

import numpy as np

from . import _arrays, _core
from ._core import InputError, Instance
from ._instances import _tour, as_instance
from ._results import ManyResult, Result

if TYPE_CHECKING:
    from ._models import Model

METHODS = ("auto", "lk", "eax", "lkh", "nearest", "greedy", "2opt")

Progress = Union[bool, Callable[[str, float], Optional[bool]], None]
ManyProgress = Union[bool, Callable[[int, int], object], None]


def as_result(fields: dict[str, Any], made: Instance, problem: Any) -> Result:
    tour = _arrays.like(problem)(fields.pop("tour"))
    return Result(tour=tour, points=made.points, **fields)


def _bar(total: Optional[int] = None) -> Any:
    """A progress bar of tqdm, or None where it is not installed."""
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return None
    return tqdm(total=total, unit="instance" if total is not None else "call", leave=False)


def search_callback(progress: Progress) -> tuple[Any, Callable[[], None]]:
    """The callback of a single search, and what closes it."""
    if progress is True:
        bar = _bar()
        if bar is None:
            return None, lambda: None

        def show(phase: str, length: float) -> None:
            bar.set_description_str(f"{phase} {length:.10g}")

        return show, bar.close
    return _arrays.callback(None if progress is False else progress, "progress"), lambda: None


def solve(
    problem: Any = None,
    *,
    distance_matrix: Any = None,
    time_limit: Optional[float] = None,
    seed: int = 0,
    initial: Any = None,
    fixed_edges: Any = None,
    bound: bool = False,
    method: str = "auto",
    model: Union[str, Model, None] = None,
    progress: Progress = None,
) -> Result:
    """A tour of one instance: optimal for small ones, very good for large ones.

    Args:
        problem: coordinates (N, 2), a distance matrix (N, N) with N > 2, an ``Instance``, or the path of a file.
        distance_matrix: symmetric distances (N, N), instead of ``problem``.
        time_limit: seconds, all phases included; None: until the search sees no more use in going on.
        seed: same seed, same tour, unless the time limit cuts the search.
        initial: a tour (N,) to start from; the result is never longer.
        fixed_edges: pairs of nodes (M, 2) that the tour visits one after the other.
        bound: also compute the Held-Karp bound, which tells how good the tour is: ``Result.gap``.
        method: "auto", "lk", "eax", "lkh" (an installed LKH), "nearest", "greedy" or "2opt".
        model: a network (its name, path, or what ``load_model`` returned) that builds the tour instead.
        progress: True for a bar of tqdm if that is installed, or a function of (phase, best length so far) that is
            called a few times per second; when it returns False the search ends with the best tour so far.

    Returns:
        ``Result`` with tour, length, gap, seconds and ``.plot()``.

    The GIL is released. Ctrl-C stops the search and raises KeyboardInterrupt.

    >>> import puretour
    >>> result = puretour.solve(puretour.generate("uniform", 150, seed=1), bound=True)
    >>> round(result.length, 4), result.method, result.gap < 0.01
    (9.3001, 'eax', True)
    """
    made = as_instance(problem, distance_matrix, fixed_edges)
    if model is not None:
        from ._models import Model, load_model

        if method != "auto":
            raise InputError(f"method is {method!r}, but a model builds the tour; leave one of them out")
        network = model if isinstance(model, Model) else load_model(model)
        result = network.solve(made, time_limit=time_limit, seed=seed, initial=initial, bound=bound, progress=progress)
        return replace(result, tour=_arrays.like(problem)(result.tour))
    start = None if initial is None else _tour(initial, len(made), "initial")
    callback, close = search_callback(progress)
    try:
        fields = _core.solve(
            made,
            _arrays.text(method, "method", METHODS),
            _arrays.time_limit(time_limit),
            _arrays.seed(seed),
            start,
            _arrays.boolean(bound, "bound"),
            callback,
        )
    finally:
        close()
    return as_result(fields, made, problem if problem is not None else distance_matrix)


def solve_many(
    points: Any,
    *,
    method: str = "label",
    time_limit: Optional[float] = None,
    seed: int = 0,
    threads: int = 0,
    progress: ManyProgress = None,
) -> ManyResult:
    """Tours of many instances at once: labels for imitation learning, reference tours of test sets.

    Args:
        points: (B, N, 2), or a sequence of arrays (N_b, 2) of different sizes.
        method: "label" is made for many instances of up to 254 nodes: milliseconds each, on average about 0.01 % above
            optimal (larger ones are solved as "auto" does). Or a method of ``solve``.
        time_limit: seconds per instance; not for "label".
        seed: instance b of a seed has the same tour whatever the number of threads.
        threads: 0 is one for every core.
        progress: True for a bar of tqdm if that is installed, or a function of (instances done, all instances).

    Returns:
        ``ManyResult`` with tours (B, N), or a list of arrays for a sequence, and lengths (B,).

    The GIL is released. Ctrl-C stops and raises KeyboardInterrupt.

    >>> import puretour
    >>> labels = puretour.solve_many(puretour.generate("uniform", 50, count=1000, seed=1))
    >>> labels.tours.shape, labels.lengths.shape
    ((1000, 50), (1000,))
    """
    begin = time.perf_counter()
    _arrays.text(method, "method", ("label",) + METHODS)
    if method == "label" and time_limit is not None:
        raise InputError("time_limit does not go with method 'label', which has no use for it; choose another method")
    ragged = isinstance(points, (list, tuple)) and len({np.shape(entry) for entry in points}) != 1
    ragged = ragged or (isinstance(points, (list, tuple)) and len(points) > 0 and _is_array(points[0]))
    if ragged:
        wanted = "a sequence of arrays (N, 2)"
        parts = []
        for index, entry in enumerate(points):
            part = _arrays.floats(entry, f"points[{index}]", wanted)
            if part.ndim != 2 or part.shape[1] != 2 or len(part) == 0:
                raise InputError(f"points[{index}] has shape {_arrays.shape_text(part.shape)}; wanted: (N, 2)")
            parts.append(part)
        flat = np.concatenate(parts) if parts else np.zeros((0, 2))
        sizes = np.array([len(part) for part in parts], np.int64)
    else:
        batch = _arrays.points(points, "(B, N, 2)", batch=True)
        flat = batch.reshape(-1, 2)
        sizes = np.full(len(batch), batch.shape[1], np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    bar = _bar(len(sizes)) if progress is True else None
    callback: Any = None if isinstance(progress, bool) else _arrays.callback(progress, "progress")
    if bar is not None:

        def callback(done: int, total: int) -> None:
            bar.update(done - bar.n)

    try:
        tours, lengths = _core.solve_many(
            flat,
            offsets,
            method,
            _arrays.time_limit(time_limit),
            _arrays.seed(seed),
            _arrays.threads(threads),
            callback,
        )
    finally:
        if bar is not None:
            bar.close()
    if ragged:
        convert = _arrays.like(*points)
        split: Any = [convert(part) for part in np.split(tours, offsets[1:-1])] if len(sizes) > 0 else []
    else:
        convert = _arrays.like(points)
        split = convert(tours.reshape(batch.shape[:2]))
    return ManyResult(split, convert(lengths), time.perf_counter() - begin)


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") or hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def complete_tour(points: Any, visited: Any, *, seed: int = 0, threads: int = 0) -> Any:
    """The best way found to finish partial tours: the nodes visited so far stay, in their order.

    Args:
        points: (N, 2) or (B, N, 2).
        visited: nodes visited so far, (K,) or (B, K), K from 0 to N.

    Returns:
        Whole tours, (N,) or (B, N), that begin with ``visited``. Exact for up to 8 unvisited nodes.

    >>> import puretour
    >>> puretour.complete_tour([[0, 0], [1, 1], [1, 0], [0, 1]], [1, 2])
    array([1, 2, 0, 3])
    """
    array = _arrays.points(points)
    wanted = "(K,)" if array.ndim == 2 else f"({len(array)}, K)"
    wanted += f" with K <= {array.shape[-2]}, for points of shape {_arrays.shape_text(array.shape)}"
    begin = _arrays.integers(visited, "visited", wanted)
    fits = begin.ndim == array.ndim - 1 and begin.shape[-1] <= array.shape[-2]
    if not fits or (array.ndim == 3 and len(begin) != len(array)):
        raise InputError(f"visited has shape {_arrays.shape_text(begin.shape)}; wanted: {wanted}")
    tours = _core.complete_tours(array, begin, _arrays.seed(seed), _arrays.threads(threads))
    return _arrays.like(points, visited)(tours)


def tour_length(points: Any, tours: Any, *, threads: int = 1) -> Any:
    """Length of closed tours: the sum of Euclidean distances, or that of the metric of an ``Instance``.

    Args:
        points: (N, 2), (B, N, 2) or an ``Instance``.
        tours: (N,) or (S, N) for one instance; (B, N) or (B, S, N) for a batch.

    Returns:
        A float for one tour, else float64 of the shape of the batch. No gradients.

    >>> import puretour
    >>> puretour.tour_length([[0, 0], [3, 0], [3, 4]], [0, 1, 2])
    12.0
    """
    if isinstance(points, Instance):
        return _core.instance_tour_length(points, _tour(tours, len(points), "tours"))
    array, orders = _arrays.points_and_tours(points, tours)
    lengths = _core.tour_lengths(array, orders, _arrays.threads(threads))
    return _arrays.like(points, tours)(lengths) if lengths.ndim > 0 else lengths.item()
