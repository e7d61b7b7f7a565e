"""What can be passed, and the one exception for what cannot."""

import random

import numpy as np
import pytest

import puretour

POINTS = puretour.generate("uniform", 10, 3, seed=1)
TOURS = np.array([np.random.default_rng(b).permutation(10) for b in range(3)])


@pytest.mark.parametrize(
    "points",
    [
        POINTS.astype(np.float32),
        POINTS.astype(np.float16),
        (POINTS * 1000).astype(np.int32),
        (POINTS * 200).astype(np.uint8),
        POINTS.astype(">f8"),
        np.asfortranarray(POINTS),
        np.repeat(POINTS, 2, axis=1)[:, ::2],
        POINTS[:, :, ::-1],
        np.frombuffer(b"x" + POINTS.tobytes(), np.uint8)[1:].view(np.float64).reshape(3, 10, 2),  # not aligned
        POINTS.tolist(),
        [list(map(tuple, instance)) for instance in POINTS],
    ],
)
def test_all_kinds_of_numbers(points):
    plain = np.array(points, dtype=np.float64)
    expected = puretour.pupo_weights(plain, TOURS)
    assert (puretour.pupo_weights(points, TOURS) == expected).all()
    for kind in (np.int8, np.uint8, np.int32, np.uint32, np.uint64, ">i4"):
        assert (puretour.pupo_weights(points, TOURS.astype(kind)) == expected).all()
    assert (puretour.purity(points, np.asfortranarray(TOURS)).orders == puretour.purity(plain, TOURS).orders).all()


def test_read_only_arrays_and_other_protocols():
    points = POINTS.copy()
    points.flags.writeable = False
    tours = TOURS.copy()
    tours.flags.writeable = False
    expected = puretour.pupo_weights(POINTS, TOURS)
    assert (puretour.pupo_weights(points, tours) == expected).all()

    class HasArray:
        def __array__(self, dtype=None, copy=None):
            return POINTS

    class HasInterface:
        __array_interface__ = POINTS.__array_interface__

    class HasDlpack:
        def __dlpack__(self, **options):
            return POINTS.__dlpack__()

        def __dlpack_device__(self):
            return POINTS.__dlpack_device__()

    for value in (HasArray(), HasInterface(), HasDlpack()):
        assert (puretour.pupo_weights(value, TOURS) == expected).all()


def _nan():
    points = POINTS.copy()
    points[1, 4, 0] = np.nan
    return points


def _twice():
    tours = TOURS.copy()
    tours[2, 3] = tours[2, 5]
    return tours


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: puretour.pupo_weights(POINTS[..., 0], TOURS), r"points has shape \(3, 10\); wanted: \(N, 2\) or"),
        (lambda: puretour.pupo_weights(np.zeros((3, 10, 3)), TOURS), r"points has shape \(3, 10, 3\); wanted"),
        (lambda: puretour.pupo_weights(_nan(), TOURS), r"points has shape \(3, 10, 2\) and holds nan at \(1, 4, 0\)"),
        (lambda: puretour.pupo_weights(np.full((3, 10, 2), np.inf), TOURS), r"points .* holds inf"),
        (lambda: puretour.pupo_weights(POINTS * 1e200, TOURS), r"points .* within 1e\+100"),
        (lambda: puretour.pupo_weights(POINTS.astype(complex), TOURS), r"points has dtype complex128"),
        (lambda: puretour.pupo_weights("text", TOURS), r"points has dtype <U4"),
        (lambda: puretour.pupo_weights([[1, 2], [3]], TOURS), r"points is no array"),
        (lambda: puretour.pupo_weights(None, TOURS), r"points has dtype object"),
        (lambda: puretour.pupo_weights(POINTS, TOURS[:, :9]), r"tours has shape \(3, 9\); wanted: \(3, 10\) or \(3, S, 10\)"),
        (lambda: puretour.pupo_weights(POINTS, TOURS[:2]), r"tours has shape \(2, 10\); wanted: \(3, 10\)"),
        (lambda: puretour.pupo_weights(POINTS, TOURS * 1.0), r"tours has dtype float64 and shape \(3, 10\); wanted: int"),
        (lambda: puretour.pupo_weights(POINTS, _twice()), r"tours\[2\] must hold every node once of 0 .. 9, but has"),
        (lambda: puretour.pupo_weights(POINTS, TOURS + 1), r"tours\[0\] must hold .* node 10 at position"),
        (lambda: puretour.pupo_weights(POINTS, TOURS - 1), r"node -1"),
        (lambda: puretour.pupo_weights(POINTS, TOURS, discount=1.5), r"discount is 1.5; wanted: a number of 0 .. 1"),
        (lambda: puretour.pupo_weights(POINTS, TOURS, variant="ours"), r"variant is 'ours'; wanted: one of: paper, authors"),
        (lambda: puretour.purity(POINTS[0, :1], [0]), r"points has shape \(1, 2\); wanted: at least 2 nodes"),
        (lambda: puretour.purity_orders(np.zeros((0, 2))), r"points has shape \(0, 2\); wanted"),
        (lambda: puretour.gabriel_graph(POINTS), r"points has shape \(3, 10, 2\); wanted: \(N, 2\)"),
        (lambda: puretour.gabriel_graph(POINTS[0], -1), r"max_order is -1"),
        (lambda: puretour.solve(POINTS), r"points has shape \(3, 10, 2\); wanted: \(N, 2\), or a distance matrix"),
        (lambda: puretour.solve(np.zeros((4, 5))), r"points has shape \(4, 5\); wanted: \(N, 2\), or a distance matrix"),
        (lambda: puretour.solve(distance_matrix=np.zeros((4, 5))), r"distance_matrix has shape \(4, 5\); wanted: \(N, N\)"),
        (lambda: puretour.solve(np.arange(9).reshape(3, 3)), r"symmetric"),
        (lambda: puretour.solve(), r"either points"),
        (lambda: puretour.solve(POINTS[0], time_limit=0), r"time_limit is 0"),
        (lambda: puretour.solve(POINTS[0], time_limit="1"), r"time_limit is '1'"),
        (lambda: puretour.solve(POINTS[0], seed=-1), r"seed is -1"),
        (lambda: puretour.solve(POINTS[0], seed=1.5), r"seed is 1.5"),
        (lambda: puretour.solve(POINTS[0], method="best"), r"method is 'best'; wanted: one of: auto"),
        (lambda: puretour.solve(POINTS[0], initial=[0, 1]), r"initial has shape \(2,\); wanted: \(10,\)"),
        (lambda: puretour.solve(POINTS[0], initial=[0] * 10), r"initial must hold every node once"),
        (lambda: puretour.solve(POINTS[0], fixed_edges=[[0, 10]]), r"fixed_edges\[0\] is \(0, 10\)"),
        (lambda: puretour.solve(POINTS[0], fixed_edges=[[0, 1], [0, 2], [0, 3]]), r"fixed_edges"),
        (lambda: puretour.solve(POINTS[0], fixed_edges=[0, 1]), r"fixed_edges has shape \(2,\); wanted: \(M, 2\)"),
        (lambda: puretour.solve(POINTS[0], progress=3), r"progress is 3"),
        (lambda: puretour.solve(POINTS[0], model="nobody"), r"there is no network 'nobody'"),
        (lambda: puretour.solve_many(POINTS[0]), r"points has shape \(10, 2\); wanted: \(B, N, 2\)"),
        (lambda: puretour.solve_many([POINTS[0], POINTS[0][:, :1]]), r"points\[1\] has shape \(10, 1\)"),
        (lambda: puretour.solve_many(POINTS, threads=-1), r"threads is -1"),
        (lambda: puretour.solve_many(POINTS, time_limit=1), r"time_limit"),
        (lambda: puretour.complete_tour(POINTS[0], [1, 1]), r"visited must hold different nodes"),
        (lambda: puretour.complete_tour(POINTS, [[1], [2], [10]]), r"visited\[2\] must hold .* node 10"),
        (lambda: puretour.complete_tour(POINTS, [1]), r"visited has shape \(1,\); wanted: \(3, K\)"),
        (lambda: puretour.tour_length(POINTS[0], [0, 1, 2]), r"tours has shape \(3,\); wanted: \(10,\) or \(S, 10\)"),
        (lambda: puretour.law_fit([5]), r"tours has edges of order 0 only"),
        (lambda: puretour.law_fit([0, 0]), r"no edges"),
        (lambda: puretour.law_fit([3, -1]), r"is -1"),
        (lambda: puretour.generate("normal", 10), r"distribution is 'normal'; wanted: one of: uniform"),
        (lambda: puretour.generate("uniform", 0), r"nodes is 0"),
        (lambda: puretour.generate("uniform", 10, -1), r"count is -1"),
        (lambda: puretour.instance(POINTS[0], metric="L7"), r"metric is 'L7'; choose one of: EUC_2D_REAL"),
        (lambda: puretour.load_model("am50-pupo").solve(POINTS[0], decode="beam"), r"beam"),
        (lambda: puretour.load_model("am50-pupo").solve(POINTS[0], temperature=0), r"temperature is 0"),
        (lambda: puretour.load_model("am50-pupo").solve(np.ones((3, 3)) - np.eye(3)), r"coordinates"),
        (lambda: puretour.load_model("am50-pupo").log_prob(POINTS, _twice()), r"tours\[2\] must hold every node once"),
        (lambda: puretour.write("x.npy", POINTS[0], [0, 1]), r"tours has shape \(2,\); wanted: \(10,\)"),
    ],
)
def test_one_exception_says_what_is_wrong(call, message):
    with pytest.raises(puretour.InputError, match=message) as caught:
        call()
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, puretour.Error)


def _random_array(rng):
    """Points, tours and things that are neither, of all kinds and shapes."""
    kind = rng.randrange(12)
    nodes = rng.choice([0, 1, 2, 3, 5, 9, 12])
    batch = rng.choice([(), (), (1,), (2,), (0,), (2, 2)])
    generator = np.random.default_rng(rng.randrange(2**32))
    if kind < 5:
        array = generator.random((*batch, nodes, 2)) * 10.0 ** rng.choice([-320, -3, 0, 0, 0, 4, 90])
        with np.errstate(all="ignore"):
            array = array.astype(rng.choice([np.float64, np.float64, np.float32, np.float16, np.int64, np.int8, np.longdouble]))
    elif kind < 9:
        tours = np.tile(np.arange(nodes), (*batch, 1))
        array = generator.permuted(tours, axis=-1).astype(rng.choice([np.int64, np.int32, np.uint8, np.float32]))
    else:
        shape = tuple(rng.choice([0, 1, 2, 3, 4]) for _ in range(rng.randrange(4)))
        array = np.asarray(generator.random(shape) * 8).astype(rng.choice([float, int, bool, complex, "U3", object]))
    array = np.asarray(array)
    if array.size > 0 and rng.random() < 0.15 and array.dtype.kind in "fi":
        array.flat[rng.randrange(array.size)] = rng.choice([-1, 0, 3, 99] + [float("nan"), float("inf")] * (array.dtype.kind == "f"))
    if rng.random() < 0.2 and array.ndim > 0:
        array = array[::-1]
    if rng.random() < 0.2:
        array = array.T
    if rng.random() < 0.1:
        array.flags.writeable = False
    return array.tolist() if rng.random() < 0.1 else array


def _random_scalar(rng):
    return rng.choice([0, 1, 2, 3, -1, 2**70, 0.5, 1.0, float("nan"), None, "uniform", "paper", "8", True, [], b"x", object()])


def test_ten_thousand_random_calls_raise_input_errors_only():
    rng = random.Random(20261118)
    model = puretour.load_model("am50-pupo")
    functions = [
        (puretour.pupo_weights, 2, ["discount", "variant", "clamp", "threads"]),
        (puretour.pupo_trace, 2, ["discount", "variant", "clamp"]),
        (puretour.purity, 2, ["threads"]),
        (puretour.tour_length, 2, ["threads"]),
        (puretour.complete_tour, 2, ["seed", "threads"]),
        (puretour.purity_orders, 1, ["threads"]),
        (puretour.gabriel_graph, 1, ["max_order", "threads"]),
        (puretour.law_fit, 1, ["seed"]),
        (puretour.solve, 1, ["seed", "bound", "method", "fixed_edges", "initial", "distance_matrix"]),
        (puretour.solve_many, 1, ["seed", "threads", "method"]),
        (puretour.instance, 1, ["metric", "fixed_edges", "distance_matrix"]),
        (model.solve, 1, ["seed", "augment", "temperature", "decode", "threads"]),
        (model.rollout, 1, ["sample", "num_tours", "temperature", "seed"]),
        (model.log_prob, 2, ["per_step"]),
        (puretour.load_model, 1, []),
    ]
    ended = refused = 0
    for _ in range(10_000):
        function, count, options = rng.choice(functions)
        arguments = [_random_array(rng) if rng.random() < 0.97 else _random_scalar(rng) for _ in range(count)]
        if count == 2 and rng.random() < 0.6:  # a pair that may fit
            nodes = rng.choice([1, 2, 5, 9])
            arguments = [np.random.default_rng(nodes).random((2, nodes, 2)), np.tile(np.arange(nodes), (2, 1))]
            if rng.random() < 0.5:
                arguments = [argument[0] for argument in arguments]
        chosen = {name: _random_scalar(rng) for name in options if rng.random() < 0.1}
        for name in ("fixed_edges", "initial", "distance_matrix"):
            if name in options and rng.random() < 0.1:
                chosen[name] = _random_array(rng)
        try:
            function(*arguments, **chosen)
            ended += 1
        except puretour.InputError as error:
            assert str(error)
            refused += 1
    assert ended > 2000 and refused > 2000
