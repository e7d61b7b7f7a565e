# Writes the arrays of this folder with NumPy; run it here.
# SPDX-License-Identifier: MIT
import numpy as np

k = np.arange(3 * 5).reshape(3, 5)
points = np.stack([k * 0.25, k * 0.5 + 1], axis=-1)  # (3, 5, 2)
tours = np.stack([(np.arange(5) * 3 + b) % 5 for b in range(3)])  # (3, 5)


def save(name, array, version=None):
    with open(name, "wb") as file:
        np.lib.format.write_array(file, array, version=version)


save("points_f8.npy", points)
save("points_one.npy", points[0])
save("points_f4_fortran.npy", np.asfortranarray(points.astype("<f4")))
save("points_v2.npy", points, (2, 0))
save("points_v3.npy", points, (3, 0))
save("tours_i8.npy", tours.astype("<i8"))
save("points_big_endian.npy", points.astype(">f8"))
np.savez("stored.npz", points=points, tours=tours)
np.savez_compressed("compressed.npz", points=points.astype("<f4"), tours=np.asfortranarray(tours.astype("<u2")), other=k)
np.savez("one.npz", points=points[1], tours=tours[1].astype("<i2"))
