"""`python -m cellwright` is the command `cellwright`."""

import sys

from cellwright.cli import main

if __name__ == "__main__":
    sys.exit(main())
