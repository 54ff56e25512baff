"""The command line as `python -m hpcsolve`."""

import sys

from hpcsolve.cli import main

if __name__ == "__main__":
    sys.exit(main())
