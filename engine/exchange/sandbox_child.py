"""The child that reads a user's file: limits itself first, then does what its parent asks in one line of JSON."""

import os
import sys

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


def main() -> int:
    """Read the request, answer on the standard output; mistakes of the user are part of an answer."""
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
