"""`python -m toolwright` is the command `toolwright`."""

import sys

from toolwright.cli import main

if __name__ == "__main__":
    sys.exit(main())
