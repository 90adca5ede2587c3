"""Draw docs/plots/scaling.svg from what was recorded; with `record`, record it anew on a running local stack first.

source .local/env && .venv/bin/python -m docs.plots record
"""

import sys

from docs.plots import recording, scaling

if __name__ == "__main__":
    if sys.argv[1:] == ["record"]:
        recording.write(recording.record())
    scaling.SVG.write_text(scaling.draw(recording.read()))
