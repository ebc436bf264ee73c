"""The child that reads a user's file: limits itself first, then does what its parent asks in one line of JSON."""

import json
import os
import sys


def limit(megabytes: int, seconds: int) -> None:
    """Cap this process's memory and processor time, where the system can."""
    try:
        import resource
    except ImportError:
        return
    for what, most in (
        (resource.RLIMIT_AS, megabytes << 20),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (most if hard < 0 else min(most, hard), hard))


def main() -> int:
    """Read the request, answer on the standard output; mistakes of the user are part of an answer."""
    request = json.loads(sys.stdin.read())
    os.environ.update(ARROW_DEFAULT_MEMORY_POOL="system", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    limit(request["megabytes"], request["seconds"])
    from engine.errors import PruneScopeError
    from engine.exchange.tasks import TASKS

    try:
        answer: dict[str, object] = {"result": TASKS[request["task"]](request)}
    except PruneScopeError as error:
        answer = {"refused": str(error)}
    except MemoryError:
        answer = {"refused": f"The file needs more than {request['megabytes']:,} MB of memory to be read."}
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
