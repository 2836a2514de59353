"""Extents of windows that move over an image."""


def pair(value):
    """(vertical, horizontal) of a number for both, or of two numbers."""
    return (value, value) if isinstance(value, int) else tuple(value)


def window_extent(extent, kernel, stride, padding=0):
    """How often a window fits, rounded down; 0 or less if it does not."""
    return (extent + 2 * padding - kernel) // stride + 1


def window_extent_rounded_up(extent, kernel, stride, padding=0):
    """The same rounded up, as Caffe's pools do.

    The last window may stick out, but not start in the padding after the image.
    """
    count = -(-(extent + 2 * padding - kernel) // stride) + 1
    return count - 1 if (count - 1) * stride >= extent + padding else count


def transposed_extent(extent, kernel, stride):
    """The smallest extent whose window_extent is the given one."""
    return (extent - 1) * stride + kernel
