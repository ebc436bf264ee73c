"""Forward and backward through LeNet as compiled functions: one thread, every sum in the order that is written here.

All arrays are flat. Images and maps have channels last. What linear layers take and give has one row per feature and
one column per image; `pitch` numbers lie between two rows, of which the first `columns` count.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import config, njit

from engine.datasets.location import cache_folder
from engine.training.fused.vectors import LANES, constant, if_greater, load, multiply_add, splat, store

PAIR = 2 * LANES
MAPS1, MAPS2, HIDDEN1, HIDDEN2 = 6, 16, 120, 84
TAPS2 = 9 * MAPS1
REACH = 4 * MAPS1
"""Numbers in a line of what a window of the second pooling sees: four lines of four pixels."""
SLACK = 64
"""Numbers behind each image and its maps: vectors may reach beyond the last pixel, where nobody looks."""

Array = np.ndarray


class Shape(NamedTuple):
    """Sizes of a LeNet: channels and side of its images, sides of its two pooled maps, number of classes."""

    channels: int
    side: int
    side1: int
    side2: int
    n_classes: int


class Layers(NamedTuple):
    """Something of each layer's weights and biases: themselves, their gradients, momenta."""

    conv1: Array
    conv1_bias: Array
    conv2: Array
    conv2_bias: Array
    linear1: Array
    linear1_bias: Array
    linear2: Array
    linear2_bias: Array
    linear3: Array
    linear3_bias: Array


class Buffers(NamedTuple):
    """What a step writes down: by image, by image for one image, by feature, weights and gradients in other orders."""

    images: Array
    maps1: Array
    winners1: Array
    maps2: Array
    winners2: Array
    flat_gradient: Array

    maps1_gradient: Array
    maps2_gradient: Array

    flat: Array
    hidden1: Array
    hidden2: Array
    logits: Array
    hidden1_gradient: Array
    hidden2_gradient: Array
    logits_gradient: Array

    taps1: Array
    taps2: Array
    start1: Array
    reach2: Array
    taps1_gradient: Array
    taps2_gradient: Array
    bias1_gradient: Array
    by_image: Array


def compiled(function: Callable[..., Any]) -> Any:
    """The function in machine code, which is kept in a folder of the user's that changes with this package's text.

    Where there is no such folder, it is compiled anew in each process.
    """
    before, config.CACHE_DIR = config.CACHE_DIR, str(_FOLDER)
    try:
        return njit(cache=True, error_model="numpy")(function)
    except RuntimeError:
        return njit(error_model="numpy")(function)
    finally:
        config.CACHE_DIR = before


_TEXT = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
_FOLDER = cache_folder() / "compiled" / hashlib.sha256(_TEXT).hexdigest()[:12]


@compiled
def in_pairs(count: int) -> int:
    """The count rounded up to whole pairs of vectors."""
    return -(-count // PAIR) * PAIR


# -- linear layers --------------------------------------------------------------------------------------------------


@compiled
def add_product(  # noqa: PLR0913
    left: Array, row: int, step: int, right: Array, right_pitch: int, out: Array, out_pitch: int, shape: Any
) -> None:
    """out[i, j] += sum over k, ascending, of left[i x row + k x step] x right[k, j]; `shape` has how many i, j and k.

    Columns go in pairs of vectors.
    """
    n_rows, n_columns, depth = shape
    for j in range(0, n_columns, PAIR):
        for i in range(0, n_rows - 3, 4):
            o0 = i * out_pitch + j
            o1, o2, o3 = o0 + out_pitch, o0 + 2 * out_pitch, o0 + 3 * out_pitch
            a0, b0, a1, b1 = load(out, o0), load(out, o0 + LANES), load(out, o1), load(out, o1 + LANES)
            a2, b2, a3, b3 = load(out, o2), load(out, o2 + LANES), load(out, o3), load(out, o3 + LANES)
            for k in range(depth):
                a, b = load(right, k * right_pitch + j), load(right, k * right_pitch + j + LANES)
                at = i * row + k * step
                x = splat(left, at)
                a0, b0 = multiply_add(x, a, a0), multiply_add(x, b, b0)
                x = splat(left, at + row)
                a1, b1 = multiply_add(x, a, a1), multiply_add(x, b, b1)
                x = splat(left, at + 2 * row)
                a2, b2 = multiply_add(x, a, a2), multiply_add(x, b, b2)
                x = splat(left, at + 3 * row)
                a3, b3 = multiply_add(x, a, a3), multiply_add(x, b, b3)
            store(out, o0, a0), store(out, o0 + LANES, b0), store(out, o1, a1), store(out, o1 + LANES, b1)
            store(out, o2, a2), store(out, o2 + LANES, b2), store(out, o3, a3), store(out, o3 + LANES, b3)
        for i in range(n_rows - n_rows % 4, n_rows):
            at = i * out_pitch + j
            a0, b0 = load(out, at), load(out, at + LANES)
            for k in range(depth):
                x = splat(left, i * row + k * step)
                a0 = multiply_add(x, load(right, k * right_pitch + j), a0)
                b0 = multiply_add(x, load(right, k * right_pitch + j + LANES), b0)
            store(out, at, a0), store(out, at + LANES, b0)


@compiled
def linear(values: Array, weights: Array, bias: Array, out: Array, columns: int, pitch: int) -> None:
    """A linear layer's output."""
    n_out = len(bias)
    n_in = len(weights) // n_out
    for i in range(n_out):
        out[i * pitch : i * pitch + columns] = bias[i]
    add_product(weights, n_in, 1, values, pitch, out, pitch, (n_out, columns, n_in))


@compiled
def rectify(values: Array) -> None:
    """ReLU in place."""
    for i in range(len(values)):
        values[i] = max(values[i], np.float32(0))


@compiled
def let_through(gradient: Array, values: Array) -> None:
    """The gradient behind ReLU made the one before it, in place."""
    for i in range(len(gradient)):
        gradient[i] = gradient[i] if values[i] > 0 else np.float32(0)


@compiled
def linear_gradients(values: Array, gradient: Array, out: Array, bias_out: Array, by_image: Array, where: Any) -> None:
    """Gradients of a linear layer's weights, in rows of whole pairs, and biases, from its input and that of its output.

    `by_image` is left with the input, one row per image.
    """
    n, pitch = where
    width = len(out) // len(bias_out)
    for i in range(n):
        for k in range(len(values) // pitch):
            by_image[i * width + k] = values[k * pitch + i]
    out[:] = 0
    add_product(gradient, pitch, 1, by_image, width, out, width, (len(bias_out), width, n))
    for o in range(len(bias_out)):
        total = np.float32(0)
        for i in range(n):
            total += gradient[o * pitch + i]
        bias_out[o] = total


# -- convolutions ---------------------------------------------------------------------------------------------------


@compiled
def pool(first: Any, second: Any, third: Any, fourth: Any, maps: Array, winners: Array, place: int) -> None:
    """Write down the largest of a window's four pixels, no less than 0, and which it is; of equals the first."""
    zero = constant(np.float32(0))
    best, winner = first, zero
    winner, best = if_greater(second, best, constant(np.float32(1)), winner), if_greater(second, best, second, best)
    winner, best = if_greater(third, best, constant(np.float32(2)), winner), if_greater(third, best, third, best)
    winner, best = if_greater(fourth, best, constant(np.float32(3)), winner), if_greater(fourth, best, fourth, best)
    store(maps, place, if_greater(best, zero, best, zero))
    store(winners, place, winner)


@compiled
def convolve1(
    image: Array, at: int, shape: Shape, taps: Array, bias: Array, maps: Array, winners: Array, out: int
) -> None:
    """One image's 6 maps after convolution, max-pool and ReLU, and each pixel's winner; two pixels at a time."""
    channels, line, pooled, start = shape.channels, shape.side * shape.channels, shape.side1, load(bias, 0)
    for y in range(pooled):
        for x in range(0, pooled, 2):
            p0 = p1 = p2 = p3 = q0 = q1 = q2 = q3 = start
            tap, corner = 0, at + 2 * (y * line + x * channels)
            for ky in range(3):
                for i in range(corner + ky * line, corner + ky * line + 3 * channels):
                    weight, j = load(taps, tap), i + line
                    tap += LANES
                    p0 = multiply_add(splat(image, i), weight, p0)
                    p1 = multiply_add(splat(image, i + channels), weight, p1)
                    q0 = multiply_add(splat(image, i + 2 * channels), weight, q0)
                    q1 = multiply_add(splat(image, i + 3 * channels), weight, q1)
                    p2 = multiply_add(splat(image, j), weight, p2)
                    p3 = multiply_add(splat(image, j + channels), weight, p3)
                    q2 = multiply_add(splat(image, j + 2 * channels), weight, q2)
                    q3 = multiply_add(splat(image, j + 3 * channels), weight, q3)
            place = out + (y * pooled + x) * MAPS1
            pool(p0, p1, p2, p3, maps, winners, place)
            pool(q0, q1, q2, q3, maps, winners, place + MAPS1)


@compiled
def convolve2(
    image: Array, at: int, shape: Shape, taps: Array, bias: Array, maps: Array, winners: Array, out: int
) -> None:
    """The same of the second convolution, 6 maps to 16; one pixel at a time."""
    line, pooled = shape.side1 * MAPS1, shape.side2
    a_start, b_start = load(bias, 0), load(bias, LANES)
    for y in range(pooled):
        for x in range(pooled):
            a0 = a1 = a2 = a3 = a_start
            b0 = b1 = b2 = b3 = b_start
            tap, corner = 0, at + 2 * (y * line + x * MAPS1)
            for ky in range(3):
                for i in range(corner + ky * line, corner + ky * line + 3 * MAPS1):
                    a, b = load(taps, tap), load(taps, tap + LANES)
                    tap += PAIR
                    pixel = splat(image, i)
                    a0, b0 = multiply_add(pixel, a, a0), multiply_add(pixel, b, b0)
                    pixel = splat(image, i + MAPS1)
                    a1, b1 = multiply_add(pixel, a, a1), multiply_add(pixel, b, b1)
                    pixel = splat(image, i + line)
                    a2, b2 = multiply_add(pixel, a, a2), multiply_add(pixel, b, b2)
                    pixel = splat(image, i + line + MAPS1)
                    a3, b3 = multiply_add(pixel, a, a3), multiply_add(pixel, b, b3)
            place = out + (y * pooled + x) * MAPS2
            pool(a0, a1, a2, a3, maps, winners, place)
            pool(b0, b1, b2, b3, maps, winners, place + LANES)
