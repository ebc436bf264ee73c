"""A batch through LeNet and back, as compiled functions: logits, then the gradient of every weight, then the step."""

from typing import Any

import numpy as np

from engine.training.fused.kernels import (
    HIDDEN1,
    MAPS1,
    MAPS2,
    REACH,
    SLACK,
    TAPS2,
    Array,
    Buffers,
    Layers,
    Shape,
    add_product,
    compiled,
    convolve1,
    convolve2,
    in_pairs,
    let_through,
    linear,
    linear_gradients,
    rectify,
)
from engine.training.fused.vectors import LANES, add, constant, if_equal, load, multiply_add, splat, store


@compiled
def add_tap_gradients(
    image: Array,
    at: int,
    line: int,
    channels: int,
    winners: Array,
    start: int,
    gradient: Array,
    out: Array,
    bias: Array,
) -> None:
    """Add one image's gradients of a convolution's weights, a row of `len(bias)` maps per tap, and of its biases.

    The gradient of a pooled pixel belongs to the winner of its window.
    """
    width, zero = len(bias), constant(np.float32(0))
    n_maps = MAPS1 if width == LANES else MAPS2
    pooled = (line // channels - 2) // 2
    over = channels * width
    for column in range(0, width, LANES):
        for c in range(channels):
            total, o = load(bias, column), c * width + column
            a0, a1, a2 = load(out, o), load(out, o + over), load(out, o + 2 * over)
            b0, b1, b2 = load(out, o + 3 * over), load(out, o + 4 * over), load(out, o + 5 * over)
            c0, c1, c2 = load(out, o + 6 * over), load(out, o + 7 * over), load(out, o + 8 * over)
            pixel = column
            for y in range(pooled):
                for x in range(pooled):
                    whole, winner = load(gradient, pixel), load(winners, start + pixel)
                    pixel += n_maps
                    total = add(total, whole)
                    for corner in range(4):
                        part = if_equal(winner, constant(np.float32(corner)), whole, zero)
                        i = at + (2 * y + (corner >> 1)) * line + (2 * x + (corner & 1)) * channels + c
                        a0 = multiply_add(splat(image, i), part, a0)
                        a1 = multiply_add(splat(image, i + channels), part, a1)
                        a2 = multiply_add(splat(image, i + 2 * channels), part, a2)
                        i += line
                        b0 = multiply_add(splat(image, i), part, b0)
                        b1 = multiply_add(splat(image, i + channels), part, b1)
                        b2 = multiply_add(splat(image, i + 2 * channels), part, b2)
                        i += line
                        c0 = multiply_add(splat(image, i), part, c0)
                        c1 = multiply_add(splat(image, i + channels), part, c1)
                        c2 = multiply_add(splat(image, i + 2 * channels), part, c2)
            store(out, o, a0), store(out, o + over, a1), store(out, o + 2 * over, a2)
            store(out, o + 3 * over, b0), store(out, o + 4 * over, b1), store(out, o + 5 * over, b2)
            store(out, o + 6 * over, c0), store(out, o + 7 * over, c1), store(out, o + 8 * over, c2)
            if c == 0:
                store(bias, column, total)


@compiled
def add_image_gradient(winners: Array, start: int, gradient: Array, reach: Array, side: int, out: Array) -> None:
    """Add the gradient of the second convolution's input, of one image: each window adds to the 4 x 4 pixels it saw."""
    line, pooled, pixel = side * MAPS1, (side - 2) // 2, 0
    for y in range(pooled):
        for x in range(pooled):
            o0 = 2 * (y * line + x * MAPS1)
            o1, o2, o3 = o0 + line, o0 + 2 * line, o0 + 3 * line
            a0, a1, a2 = load(out, o0), load(out, o0 + LANES), load(out, o0 + 2 * LANES)
            b0, b1, b2 = load(out, o1), load(out, o1 + LANES), load(out, o1 + 2 * LANES)
            c0, c1, c2 = load(out, o2), load(out, o2 + LANES), load(out, o2 + 2 * LANES)
            d0, d1, d2 = load(out, o3), load(out, o3 + LANES), load(out, o3 + 2 * LANES)
            for number in range(MAPS2):
                amount = splat(gradient, pixel)
                seen = (4 * number + np.int64(winners[start + pixel])) * 4 * REACH
                pixel += 1
                a0 = multiply_add(amount, load(reach, seen), a0)
                a1 = multiply_add(amount, load(reach, seen + LANES), a1)
                a2 = multiply_add(amount, load(reach, seen + 2 * LANES), a2)
                b0 = multiply_add(amount, load(reach, seen + 3 * LANES), b0)
                b1 = multiply_add(amount, load(reach, seen + 4 * LANES), b1)
                b2 = multiply_add(amount, load(reach, seen + 5 * LANES), b2)
                c0 = multiply_add(amount, load(reach, seen + 6 * LANES), c0)
                c1 = multiply_add(amount, load(reach, seen + 7 * LANES), c1)
                c2 = multiply_add(amount, load(reach, seen + 8 * LANES), c2)
                d0 = multiply_add(amount, load(reach, seen + 9 * LANES), d0)
                d1 = multiply_add(amount, load(reach, seen + 10 * LANES), d1)
                d2 = multiply_add(amount, load(reach, seen + 11 * LANES), d2)
            store(out, o0, a0), store(out, o0 + LANES, a1), store(out, o0 + 2 * LANES, a2)
            store(out, o1, b0), store(out, o1 + LANES, b1), store(out, o1 + 2 * LANES, b2)
            store(out, o2, c0), store(out, o2 + LANES, c1), store(out, o2 + 2 * LANES, c2)
            store(out, o3, d0), store(out, o3 + LANES, d1), store(out, o3 + 2 * LANES, d2)


@compiled
def by_tap(weights: Array, n_maps: int, out: Array) -> None:
    """A convolution's weights with a row of maps for each tap."""
    n_taps = len(weights) // n_maps
    for tap in range(n_taps):
        for o in range(n_maps):
            out[tap * (len(out) // n_taps) + o] = weights[o * n_taps + tap]


@compiled
def by_map(taps: Array, n_maps: int, out: Array) -> None:
    """The same the other way round."""
    n_taps = len(out) // n_maps
    for o in range(n_maps):
        for tap in range(n_taps):
            out[o * n_taps + tap] = taps[tap * (len(taps) // n_taps) + o]


@compiled
def by_corner(weights: Array, out: Array) -> None:
    """The second convolution's weights where they lie in the 4 x 4 pixels of a window, for each corner that may win."""
    for o in range(MAPS2):
        for corner in range(4):
            for tap in range(TAPS2):
                y, x = tap // (3 * MAPS1) + (corner >> 1), tap % (3 * MAPS1) + (corner & 1) * MAPS1
                out[((4 * o + corner) * 4 + y) * REACH + x] = weights[o * TAPS2 + tap]


@compiled
def forward(images: Array, shape: Shape, layers: Layers, buffers: Buffers, pitch: int) -> None:
    """Logits of all images in the buffers, with all that `backward` needs."""
    size, n_pixels = shape.side * shape.side * shape.channels, shape.side2 * shape.side2
    n, n1 = len(images) // size, shape.side1 * shape.side1 * MAPS1
    by_tap(layers.conv1, MAPS1, buffers.taps1)
    by_tap(layers.conv2, MAPS2, buffers.taps2)
    buffers.start1[:MAPS1] = layers.conv1_bias
    for i in range(n):
        at, at1, at2 = i * (size + SLACK), i * (n1 + SLACK), i * (n_pixels * MAPS2 + SLACK)
        buffers.images[at : at + size] = images[i * size : (i + 1) * size]
        convolve1(buffers.images, at, shape, buffers.taps1, buffers.start1, buffers.maps1, buffers.winners1, at1)
        convolve2(buffers.maps1, at1, shape, buffers.taps2, layers.conv2_bias, buffers.maps2, buffers.winners2, at2)
        for o in range(MAPS2):
            for pixel in range(n_pixels):
                buffers.flat[(o * n_pixels + pixel) * pitch + i] = buffers.maps2[at2 + pixel * MAPS2 + o]
    columns = in_pairs(n)
    linear(buffers.flat, layers.linear1, layers.linear1_bias, buffers.hidden1, columns, pitch)
    rectify(buffers.hidden1)
    linear(buffers.hidden1, layers.linear2, layers.linear2_bias, buffers.hidden2, columns, pitch)
    rectify(buffers.hidden2)
    linear(buffers.hidden2, layers.linear3, layers.linear3_bias, buffers.logits, columns, pitch)


@compiled
def exponential(x: float) -> float:
    """e to the power of x, which is at most 0, to nine digits; libraries differ in the last one."""
    x, power = max(x, -100.0) / 256, 1.0
    for n in range(9, 0, -1):
        power = 1 + power * x / n
    for _ in range(8):
        power *= power
    return power


@compiled
def cross_entropy_gradient(logits: Array, labels: Array, weights: Array, out: Array, pitch: int) -> None:
    """The gradient by each logit of the sum of weight x cross entropy."""
    n_classes = len(logits) // pitch
    for n in range(len(labels)):
        largest, total = logits[n], 0.0
        for k in range(n_classes):
            largest = max(largest, logits[k * pitch + n])
        for k in range(n_classes):
            out[k * pitch + n] = exponential(np.float64(logits[k * pitch + n] - largest))
            total += out[k * pitch + n]
        for k in range(n_classes):
            out[k * pitch + n] = weights[n] * (out[k * pitch + n] / total - (k == labels[n]))


@compiled
def linear_input_gradient(weights: Array, gradient: Array, values: Array, out: Array, where: Any) -> None:
    """The gradient of a linear layer's input before its ReLU, from that of its output."""
    columns, pitch = where
    n_in, n_out = len(values) // pitch, len(gradient) // pitch
    out[:] = 0
    add_product(weights, 1, n_in, gradient, pitch, out, pitch, (n_in, columns, n_out))
    let_through(out, values)


@compiled
def backward(
    labels: Array, weights: Array, shape: Shape, layers: Layers, gradients: Layers, buffers: Buffers, pitch: int
) -> None:
    """Gradients of all weights and biases, after `forward`, of the sum of weight x cross entropy."""
    n, n_pixels, by_image = len(labels), shape.side2 * shape.side2, buffers.by_image
    n_flat, where, far = n_pixels * MAPS2, (n, pitch), (in_pairs(n), pitch)
    last, middle, first = buffers.logits_gradient, buffers.hidden2_gradient, buffers.hidden1_gradient
    cross_entropy_gradient(buffers.logits, labels, weights, last, pitch)
    linear_gradients(buffers.hidden2, last, gradients.linear3, gradients.linear3_bias, by_image, where)
    linear_input_gradient(layers.linear3, last, buffers.hidden2, middle, far)
    linear_gradients(buffers.hidden1, middle, gradients.linear2, gradients.linear2_bias, by_image, where)
    linear_input_gradient(layers.linear2, middle, buffers.hidden1, first, far)
    linear_gradients(buffers.flat, first, gradients.linear1, gradients.linear1_bias, by_image, where)
    flat = buffers.flat_gradient[: n * n_flat]
    flat[:] = 0
    add_product(first, 1, pitch, layers.linear1, n_flat, flat, n_flat, (n, n_flat, HIDDEN1))
    let_through(flat, by_image)
    convolutions_backward(n, shape, layers, gradients, buffers)


@compiled
def convolutions_backward(n: int, shape: Shape, layers: Layers, gradients: Layers, buffers: Buffers) -> None:
    """Gradients of both convolutions, from that of their flat output."""
    size, n_pixels = shape.side * shape.side * shape.channels, shape.side2 * shape.side2
    n1, n2 = shape.side1 * shape.side1 * MAPS1, n_pixels * MAPS2
    by_corner(layers.conv2, buffers.reach2)
    buffers.taps1_gradient[:], buffers.taps2_gradient[:] = 0, 0
    buffers.bias1_gradient[:], gradients.conv2_bias[:] = 0, 0
    for i in range(n):
        at, at1, at2 = i * (size + SLACK), i * (n1 + SLACK), i * (n2 + SLACK)
        for pixel in range(n_pixels):
            for o in range(MAPS2):
                buffers.maps2_gradient[pixel * MAPS2 + o] = buffers.flat_gradient[i * n2 + o * n_pixels + pixel]
        add_tap_gradients(
            buffers.maps1,
            at1,
            shape.side1 * MAPS1,
            MAPS1,
            buffers.winners2,
            at2,
            buffers.maps2_gradient,
            buffers.taps2_gradient,
            gradients.conv2_bias,
        )
        buffers.maps1_gradient[:] = 0
        add_image_gradient(
            buffers.winners2, at2, buffers.maps2_gradient, buffers.reach2, shape.side1, buffers.maps1_gradient
        )
        let_through(buffers.maps1_gradient, buffers.maps1[at1 : at1 + n1 + SLACK])
        add_tap_gradients(
            buffers.images,
            at,
            shape.side * shape.channels,
            shape.channels,
            buffers.winners1,
            at1,
            buffers.maps1_gradient,
            buffers.taps1_gradient,
            buffers.bias1_gradient,
        )
    by_map(buffers.taps1_gradient, MAPS1, gradients.conv1)
    by_map(buffers.taps2_gradient, MAPS2, gradients.conv2)
    gradients.conv1_bias[:] = buffers.bias1_gradient[:MAPS1]


@compiled
def move(weights: Array, gradient: Array, momenta: Array, kept: Array, n_rows: int, rates: Any) -> None:
    """Step down in place, row by row; a row of gradients may be longer than one of weights."""
    rate, momentum, decay = rates
    length, width = len(weights) // n_rows, len(gradient) // n_rows
    for row in range(n_rows):
        w, m = weights[row * length : (row + 1) * length], momenta[row * length : (row + 1) * length]
        g, k = gradient[row * width : row * width + length], kept[row * length : (row + 1) * length]
        for i in range(length):
            m[i] = momentum * m[i] + (g[i] + decay * w[i])
            w[i] = (w[i] - rate * m[i]) * k[i]


@compiled
def descend(layers: Layers, gradients: Layers, momenta: Layers, kept: Layers, rates: Any) -> None:
    """One step of stochastic gradient descent with this rate, momentum and weight decay."""
    for number in range(0, len(layers), 2):
        n_rows = len(layers[number + 1])
        move(layers[number], gradients[number], momenta[number], kept[number], n_rows, rates)
        move(layers[number + 1], gradients[number + 1], momenta[number + 1], kept[number + 1], n_rows, rates)
