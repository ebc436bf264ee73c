"""The command line without installing: `python -m engine COMMAND` is `prunescope COMMAND`."""

import sys

from engine.commands import main

if __name__ == "__main__":
    sys.exit(main())
