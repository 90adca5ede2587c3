"""Starts the verbs: an interrupt ends them without a traceback, also while they are still being loaded."""

import sys

try:
    from local.cli import main

    sys.exit(main())
except KeyboardInterrupt:
    sys.exit(130)
