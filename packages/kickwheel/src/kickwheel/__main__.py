"""`python -m kickwheel` and the console script."""

import sys

from kickwheel._cli import main as _main


def main() -> int:
    """Run the command line on the arguments of this process."""
    return _main()


if __name__ == "__main__":
    sys.exit(main())
