"""Files that are written as a whole or not at all."""

import os
from contextlib import contextmanager, suppress


@contextmanager
def whole_file(path):
    """A binary file that is at `path` once all is written, and not before.

    What goes wrong is an OSError that names the path.
    """
    try:
        # A device or a pipe cannot be replaced.
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                yield file
            return
        target = os.path.realpath(path)
        partial = f"{target}.{os.getpid()}.partial"
        try:
            with open(partial, "xb") as file:
                yield file
            os.replace(partial, target)
        except BaseException:
            with suppress(OSError):
                os.remove(partial)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
