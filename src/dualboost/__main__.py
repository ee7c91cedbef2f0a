"""`python -m dualboost`."""

import sys

from dualboost.cli import main

if __name__ == "__main__":
    sys.exit(main())
