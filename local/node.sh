#!/bin/sh
# Says so when there is no Node that the tools of clients/typescript run on; the package itself needs 20.
set -eu

if ! node -e 'const [major, minor] = process.versions.node.split("."); process.exit(+(major < 20 || (major == 20 && minor < 19)))' 2>/dev/null ||
    ! npm --version >/dev/null 2>&1; then
    echo "Node 20.19 or newer with npm is missing: install it (https://nodejs.org, brew install node, nvm install 22)" \
        "and run this again." >&2
    exit 1
fi
