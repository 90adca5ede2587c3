"""Write openapi.json, the description of the HTTP API that the tenancy layer ships, from the routes and the models.

python -m docs.openapi
python -m docs.openapi --check
"""

import sys

from docs.openapi import document

if __name__ == "__main__":
    if "--check" not in sys.argv:
        document.COMMITTED.write_text(document.text(), encoding="utf-8")
    elif document.COMMITTED.read_text(encoding="utf-8") != document.text():
        sys.exit(f"{document.COMMITTED} is not what the code says: run `make docs`.")
