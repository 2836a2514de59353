"""Extents of windows that move over an image.

A window of `kernel` elements, `dilation` apart, moves by `stride` over an extent
with `before` and `after` elements of padding. Where it does not fit any more there
is no result: division rounds down. Caffe's pooling rounds up instead; the same
result comes from rounding down with more padding after, which `padding_to_round_up`
tells.
"""


def pair(value):
    """(vertical, horizontal) of a number for both, or of two numbers."""
    return (value, value) if isinstance(value, int) else tuple(value)


def window_extent(extent, kernel, stride, before=0, after=0, dilation=1):
    """How often the window fits; 0 or less if it does not."""
    covered = dilation * (kernel - 1) + 1
    return (extent + before + after - covered) // stride + 1


def transposed_extent(extent, kernel, stride, before=0, after=0):
    """The extent whose window_extent is the given one, the smallest of them."""
    return (extent - 1) * stride + kernel - before - after


def padding_to_round_up(extent, kernel, stride, padding):
    """The padding after the image with which pooling gives what Caffe's gives.

    Caffe rounds up, and then leaves out a window that would start in the padding
    after the image.
    """
    count = -(-(extent + 2 * padding - kernel) // stride) + 1
    if padding and (count - 1) * stride >= extent + padding:
        count -= 1
    return max(padding, (count - 1) * stride + kernel - extent - padding)
