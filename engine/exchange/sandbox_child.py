"""The child that reads a user's file: limits itself first, then does what its parent asks in one line of JSON."""

import os
import signal
import sys
import threading
import time
from typing import NoReturn

import msgspec


class ChildLimits(msgspec.Struct, frozen=True):
    """The part of a request that is read before anything else is loaded."""

    megabytes: int
    seconds: int


def limit_process(limits: ChildLimits) -> None:
    """Cap this process's memory and processor time, where the system can."""
    try:
        import resource
    except ImportError:
        return
    for kind, most in (
        (resource.RLIMIT_AS, limits.megabytes << 20),
        (resource.RLIMIT_CPU, limits.seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard < 0 else min(most, hard), hard))


def end_with_parent() -> None:
    """End this process when its parent does, however that happens: by the system on Linux, else by looking."""
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)


def main() -> NoReturn:
    """Read the request, answer on the standard output; mistakes of the user are part of an answer."""
    end_with_parent()
    line = sys.stdin.buffer.read()
    os.environ.update(ARROW_DEFAULT_MEMORY_POOL="system", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    limits = msgspec.json.decode(line, type=ChildLimits)
    limit_process(limits)
    from engine.errors import PruneScopeError
    from engine.exchange.messages import Answer, Refused, decode_request, encode
    from engine.exchange.tasks import perform

    answer: Answer
    try:
        answer = perform(decode_request(line))
    except PruneScopeError as error:
        answer = Refused(str(error))
    except MemoryError:
        answer = Refused(f"The file needs more than {limits.megabytes:,} MB of memory to be read.")
    sys.stdout.buffer.write(encode(answer) + b"\n")
    sys.stdout.buffer.flush()
    os._exit(0)  # libraries that end badly can no longer spoil what was done


if __name__ == "__main__":
    main()
