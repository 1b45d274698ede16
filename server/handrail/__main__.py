"""Run the command line as `python -m handrail`."""

import sys

from handrail.cli import main

if __name__ == "__main__":
    sys.exit(main())
