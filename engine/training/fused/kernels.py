"""A LeNet's training step in compiled functions: one thread, and every sum in the order that is written here.

All arrays are flat. Images and maps have channels last, as their weights have; what linear layers take and give has one
row per feature and one column per image, padded to `pitch` columns.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from engine.training.fused.vectors import LANES, if_greater, load, multiply_add, splat, store

MAPS1, MAPS2, HIDDEN1, HIDDEN2 = 6, 16, 120, 84
LINE2 = 24
"""A line of a patch of the second convolution, 3 x 6 numbers, in whole vectors."""
SLACK = 64
"""Numbers behind an image or its maps: vectors may reach beyond the last pixel, where nobody looks."""


class Shape(NamedTuple):
    """Sizes of one LeNet: channels and side of its images, sides of its two pooled maps, number of classes."""

    channels: int
    side: int
    side1: int
    side2: int
    classes: int


class Layers(NamedTuple):
    """One array per layer's weights and biases."""

    conv1: np.ndarray
    conv1_bias: np.ndarray
    conv2: np.ndarray
    conv2_bias: np.ndarray
    linear1: np.ndarray
    linear1_bias: np.ndarray
    linear2: np.ndarray
    linear2_bias: np.ndarray
    linear3: np.ndarray
    linear3_bias: np.ndarray


class Buffers(NamedTuple):
    """What a step writes down for up to `pitch` images.

    First by image; then the linear layers' values and slopes, by feature; then copies of weights and values in other
    orders, slopes of weights, and lists.
    """

    images: np.ndarray
    maps1: np.ndarray
    winners1: np.ndarray
    maps2: np.ndarray
    winners2: np.ndarray
    maps1_slope: np.ndarray
    flat: np.ndarray
    hidden1: np.ndarray
    hidden2: np.ndarray
    logits: np.ndarray
    flat_slope: np.ndarray
    hidden1_slope: np.ndarray
    hidden2_slope: np.ndarray
    logits_slope: np.ndarray
    corners1: np.ndarray
    corners2: np.ndarray
    taps1: np.ndarray
    taps2: np.ndarray
    lines2: np.ndarray
    start1: np.ndarray
    by_image: np.ndarray
    slopes: np.ndarray
    places: np.ndarray


def compiled(function: Callable[..., Any]) -> Any:
    """The function in machine code, which is kept on disk where there is a folder that takes it."""
    try:
        return njit(cache=True, error_model="numpy")(function)
    except RuntimeError:
        return njit(error_model="numpy")(function)


@compiled
def matrix_product(left, row, step, right, right_pitch, out, out_pitch, n_rows, n_columns, depth):  # type: ignore[no-untyped-def]
    """out[i, j] += sum over k < depth, ascending, of left[i x row + k x step] x right[k, j]; 16 columns at a time."""
    for j in range(0, n_columns, 2 * LANES):
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
def pool(first, second, third, fourth, corners, maps, winners, place):  # type: ignore[no-untyped-def]
    """Write down the largest of a window's four pixels, no less than 0, and which corner it is; of equals the first."""
    zero = splat(corners, 0)
    best, winner = first, zero
    winner, best = if_greater(second, best, splat(corners, 1), winner), if_greater(second, best, second, best)
    winner, best = if_greater(third, best, splat(corners, 2), winner), if_greater(third, best, third, best)
    winner, best = if_greater(fourth, best, splat(corners, 3), winner), if_greater(fourth, best, fourth, best)
    store(maps, place, if_greater(best, zero, best, zero))
    store(winners, place, winner)


@compiled
def convolve1(image, at, side, channels, weights, bias, corners, maps, winners, out):  # type: ignore[no-untyped-def]
    """One image's 6 maps after convolution, max-pool and ReLU, and each pixel's winning corner; two pixels at a time.

    `weights` has a row of 8 for every tap.
    """
    line, pooled, start = side * channels, (side - 2) // 2, load(bias, 0)
    for y in range(pooled):
        for x in range(0, pooled, 2):
            p0 = p1 = p2 = p3 = q0 = q1 = q2 = q3 = start
            tap, corner = 0, at + 2 * (y * line + x * channels)
            for ky in range(3):
                for i in range(corner + ky * line, corner + ky * line + 3 * channels):
                    weight, j = load(weights, tap), i + line
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
            pool(p0, p1, p2, p3, corners, maps, winners, place)
            pool(q0, q1, q2, q3, corners, maps, winners, place + MAPS1)


@compiled
def convolve2(image, at, side, weights, bias, corners, maps, winners, out):  # type: ignore[no-untyped-def]
    """The same of the second convolution, 6 maps to 16: one pixel at a time, `weights` with a row of 16 per tap."""
    line, pooled = side * MAPS1, (side - 2) // 2
    a_start, b_start = load(bias, 0), load(bias, LANES)
    for y in range(pooled):
        for x in range(pooled):
            a0 = a1 = a2 = a3 = a_start
            b0 = b1 = b2 = b3 = b_start
            tap, corner = 0, at + 2 * (y * line + x * MAPS1)
            for ky in range(3):
                for i in range(corner + ky * line, corner + ky * line + 3 * MAPS1):
                    a, b = load(weights, tap), load(weights, tap + LANES)
                    tap += 2 * LANES
                    pixel = splat(image, i)
                    a0, b0 = multiply_add(pixel, a, a0), multiply_add(pixel, b, b0)
                    pixel = splat(image, i + MAPS1)
                    a1, b1 = multiply_add(pixel, a, a1), multiply_add(pixel, b, b1)
                    pixel = splat(image, i + line)
                    a2, b2 = multiply_add(pixel, a, a2), multiply_add(pixel, b, b2)
                    pixel = splat(image, i + line + MAPS1)
                    a3, b3 = multiply_add(pixel, a, a3), multiply_add(pixel, b, b3)
            place = out + (y * pooled + x) * MAPS2
            pool(a0, a1, a2, a3, corners, maps, winners, place)
            pool(b0, b1, b2, b3, corners, maps, winners, place + LANES)


@compiled
def list_slopes(slope, at, map_step, pixel_step, maps, winners, out, n_maps, number, side, channels, start, lists):  # type: ignore[no-untyped-def]
    """How many pixels of a pooled map pass a slope on; the lists have each slope and the corner that it goes to."""
    slopes, places = lists
    pooled, count, pixel = (side - 2) // 2, 0, out + number
    at += number * map_step
    for y in range(pooled):
        for x in range(pooled):
            slopes[count] = slope[at]
            places[count] = start + 2 * (y * side + x) * channels + np.int64(winners[pixel])
            count += maps[pixel] > 0
            pixel += n_maps
            at += pixel_step
    return count


@compiled
def weigh_patches(lists, count, image, line, out, at, width):  # type: ignore[no-untyped-def]
    """Add to a map's slopes of weights each listed slope times the patch at its place: 3 lines, `width` apart."""
    slopes, places = lists
    for column in range(0, width, LANES):
        first, second, third = at + column, at + width + column, at + 2 * width + column
        a, b, c = load(out, first), load(out, second), load(out, third)
        for i in range(count):
            slope, place = splat(slopes, i), places[i] + column
            a = multiply_add(slope, load(image, place), a)
            b = multiply_add(slope, load(image, place + line), b)
            c = multiply_add(slope, load(image, place + 2 * line), c)
        store(out, first, a), store(out, second, b), store(out, third, c)


@compiled
def spread_patches(lists, count, image_slope, line, weights, at):  # type: ignore[no-untyped-def]
    """Add to the slopes of a second convolution's image each listed slope times a map's weights, at its place."""
    slopes, places = lists
    for row in range(3):
        first = at + row * LINE2
        a, b, c = load(weights, first), load(weights, first + LANES), load(weights, first + 2 * LANES)
        for i in range(count):
            slope, place = splat(slopes, i), places[i] + row * line
            store(image_slope, place, multiply_add(slope, a, load(image_slope, place)))
            place += LANES
            store(image_slope, place, multiply_add(slope, b, load(image_slope, place)))
            place += LANES
            store(image_slope, place, multiply_add(slope, c, load(image_slope, place)))


@compiled
def linear(values, weights, bias, out, n_in, n_out, pitch):  # type: ignore[no-untyped-def]
    """A linear layer's output."""
    for i in range(n_out):
        out[i * pitch : (i + 1) * pitch] = bias[i]
    matrix_product(weights, n_in, 1, values, pitch, out, pitch, n_out, pitch, n_in)


@compiled
def rectify(values):  # type: ignore[no-untyped-def]
    """ReLU in place."""
    for i in range(len(values)):
        values[i] = max(values[i], np.float32(0))


@compiled
def forward(images, shape, layers, buffers, pitch):  # type: ignore[no-untyped-def]
    """Logits of all images, one row per class, in the buffers, with all that `backward` needs."""
    channels, side, side1, side2, n_classes = shape
    size, n1, n2 = side * side * channels, side1 * side1 * MAPS1, side2 * side2 * MAPS2
    for tap in range(9 * channels):
        for o in range(MAPS1):
            buffers.taps1[tap * LANES + o] = layers.conv1[o * 9 * channels + tap]
    for tap in range(9 * MAPS1):
        for o in range(MAPS2):
            buffers.taps2[tap * MAPS2 + o] = layers.conv2[o * 9 * MAPS1 + tap]
    buffers.start1[:MAPS1] = layers.conv1_bias
    for n in range(len(images) // size):
        at, at1, at2 = n * (size + SLACK), n * (n1 + SLACK), n * (n2 + SLACK)
        buffers.images[at : at + size] = images[n * size : (n + 1) * size]
        convolve1(
            buffers.images, at, side, channels, buffers.taps1, buffers.start1, buffers.corners1,
            buffers.maps1, buffers.winners1, at1,
        )
        convolve2(
            buffers.maps1, at1, side1, buffers.taps2, layers.conv2_bias, buffers.corners2,
            buffers.maps2, buffers.winners2, at2,
        )
        for o in range(MAPS2):
            for pixel in range(side2 * side2):
                buffers.flat[(o * side2 * side2 + pixel) * pitch + n] = buffers.maps2[at2 + pixel * MAPS2 + o]
    linear(buffers.flat, layers.linear1, layers.linear1_bias, buffers.hidden1, n2, HIDDEN1, pitch)
    rectify(buffers.hidden1)
    linear(buffers.hidden1, layers.linear2, layers.linear2_bias, buffers.hidden2, HIDDEN1, HIDDEN2, pitch)
    rectify(buffers.hidden2)
    linear(buffers.hidden2, layers.linear3, layers.linear3_bias, buffers.logits, HIDDEN2, n_classes, pitch)


@compiled
def exponential(x):  # type: ignore[no-untyped-def]
    """e to the power of x for x at most 0, right to nine digits; libraries differ in the last digit."""
    x, power = max(x, -100.0) / 256, 1.0
    for n in range(9, 0, -1):
        power = 1 + power * x / n
    for _ in range(8):
        power *= power
    return power


@compiled
def cross_entropy_slope(logits, labels, weights, slope, n_classes, pitch):  # type: ignore[no-untyped-def]
    """The slope of the sum of weight x cross entropy by each logit."""
    for n in range(len(labels)):
        largest, total = logits[n], 0.0
        for k in range(n_classes):
            largest = max(largest, logits[k * pitch + n])
        for k in range(n_classes):
            share = exponential(np.float64(logits[k * pitch + n] - largest))
            slope[k * pitch + n] = share
            total += share
        for k in range(n_classes):
            slope[k * pitch + n] = weights[n] * (slope[k * pitch + n] / total - (k == labels[n]))


@compiled
def linear_back(values, weights, out_slope, slopes, bias_slopes, values_slope, by_image, n_in, n_out, n, pitch):  # type: ignore[no-untyped-def]
    """Slopes of a linear layer's weights, biases and input from that of its output; rows of weights in whole vectors."""
    width = whole_vectors(n_in)
    for i in range(n):
        for k in range(n_in):
            by_image[i * width + k] = values[k * pitch + i]
    slopes[:] = 0
    matrix_product(out_slope, pitch, 1, by_image, width, slopes, width, n_out, width, n)
    for o in range(n_out):
        total = np.float32(0)
        for i in range(n):
            total += out_slope[o * pitch + i]
        bias_slopes[o] = total
    values_slope[:] = 0
    matrix_product(weights, 1, n_in, out_slope, pitch, values_slope, pitch, n_in, pitch, n_out)
    for i in range(n_in * pitch):
        if not values[i] > 0:
            values_slope[i] = 0


@compiled
def whole_vectors(count):  # type: ignore[no-untyped-def]
    """The count rounded up to pairs of vectors."""
    return -(-count // (2 * LANES)) * 2 * LANES


@compiled
def backward(labels, weights, shape, layers, slopes, buffers, pitch):  # type: ignore[no-untyped-def]
    """Slopes of all weights and biases, after `forward`: of the sum of weight x cross entropy."""
    channels, side, side1, side2, n_classes = shape
    n, n_flat = len(labels), side2 * side2 * MAPS2
    size, n1 = side * side * channels, side1 * side1 * MAPS1
    by_image, width1 = buffers.by_image, -(-3 * channels // LANES) * LANES
    cross_entropy_slope(buffers.logits, labels, weights, buffers.logits_slope, n_classes, pitch)
    linear_back(
        buffers.hidden2, layers.linear3, buffers.logits_slope, slopes.linear3, slopes.linear3_bias,
        buffers.hidden2_slope, by_image, HIDDEN2, n_classes, n, pitch,
    )
    linear_back(
        buffers.hidden1, layers.linear2, buffers.hidden2_slope, slopes.linear2, slopes.linear2_bias,
        buffers.hidden1_slope, by_image, HIDDEN1, HIDDEN2, n, pitch,
    )
    linear_back(
        buffers.flat, layers.linear1, buffers.hidden1_slope, slopes.linear1, slopes.linear1_bias,
        buffers.flat_slope, by_image, n_flat, HIDDEN1, n, pitch,
    )
    for o in range(MAPS2):
        for line in range(3):
            for k in range(3 * MAPS1):
                buffers.lines2[(o * 3 + line) * LINE2 + k] = layers.conv2[(o * 3 + line) * 3 * MAPS1 + k]
    slopes.conv1[:], slopes.conv1_bias[:], slopes.conv2[:], slopes.conv2_bias[:] = 0, 0, 0, 0
    lists = buffers.slopes, buffers.places
    for i in range(n):
        at, at1, at2 = i * (size + SLACK), i * (n1 + SLACK), i * (n_flat + SLACK)
        buffers.maps1_slope[:] = 0
        for o in range(MAPS2):
            count = list_slopes(
                buffers.flat_slope, i, side2 * side2 * pitch, pitch, buffers.maps2, buffers.winners2, at2,
                MAPS2, o, side1, MAPS1, 0, lists,
            )
            spread_patches(lists, count, buffers.maps1_slope, side1 * MAPS1, buffers.lines2, o * 3 * LINE2)
            for j in range(count):
                buffers.places[j] += at1
                slopes.conv2_bias[o] += buffers.slopes[j]
            weigh_patches(lists, count, buffers.maps1, side1 * MAPS1, slopes.conv2, o * 3 * LINE2, LINE2)
        for o in range(MAPS1):
            count = list_slopes(
                buffers.maps1_slope, 0, 1, MAPS1, buffers.maps1, buffers.winners1, at1, MAPS1, o, side, channels, at, lists
            )
            for j in range(count):
                slopes.conv1_bias[o] += buffers.slopes[j]
            weigh_patches(lists, count, buffers.images, side * channels, slopes.conv1, o * 3 * width1, width1)


@compiled
def descend(weights, slopes, momenta, kept, length, rate, momentum, decay):  # type: ignore[no-untyped-def]
    """One step of stochastic gradient descent on rows of this length, whose slopes stand in whole vectors."""
    width = len(slopes) // (len(weights) // length)
    for row in range(len(weights) // length):
        for k in range(length):
            i = row * length + k
            momenta[i] = momentum * momenta[i] + (slopes[row * width + k] + decay * weights[i])
            weights[i] = (weights[i] - rate * momenta[i]) * kept[i]
