#!/bin/sh
# Finds a Python 3.13 that really runs and hands over to local/environments.py, which installs everything else.
# Usage: sh local/setup.sh [sam] [emulator] [checkov]   (.venv always comes with it)
set -eu
cd "$(dirname "$0")/.."

# A version manager's shim answers to the name without having the version, and some systems split venv or ensurepip
# off: so a Python counts only once it has run and imported what is needed here.
usable() {
    "$1" -c 'import sys, ensurepip, ssl, venv; sys.exit(sys.version_info[:2] != (3, 13))' >/dev/null 2>&1
}

candidates() {
    echo .venv/bin/python
    echo "$PATH" | tr : '\n' | while IFS= read -r folder; do
        for name in python3.13 python3 python; do
            if [ -n "$folder" ] && [ -x "$folder/$name" ]; then echo "$folder/$name"; fi
        done
        # The shims of pyenv, asdf and mise are beside the versions, which not every folder is set to use.
        case $folder in */shims)
            for versions in "$folder/../versions" "$folder/../installs/python"; do
                ls -d "$versions"/3.13*/bin/python 2>/dev/null || true
            done ;;
        esac
    done
    for pyenv in "${PYENV_ROOT:-$HOME/.pyenv}" "$(pyenv root 2>/dev/null || true)"; do
        ls -d "$pyenv"/versions/3.13*/bin/python 2>/dev/null || true
    done
    for uv in uv "$HOME/.local/bin/uv" "$HOME/.cargo/bin/uv"; do
        "$uv" python find --no-project 3.13 2>/dev/null || true
    done
    for place in "${UV_PYTHON_INSTALL_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/uv/python}"/cpython-3.13*/bin \
        "$HOME/.local/bin" "$HOME"/.local/share/mise/installs/python/3.13*/bin "$HOME"/.asdf/installs/python/3.13*/bin \
        /opt/homebrew/opt/python@3.13/bin /Library/Frameworks/Python.framework/Versions/3.13/bin; do
        if [ -x "$place/python3.13" ]; then echo "$place/python3.13"; fi
    done
}

HOME=${HOME:-/}
found=$(candidates | while IFS= read -r python; do
    if usable "$python"; then
        echo "$python"
        break
    fi
done)
if [ -z "$found" ]; then
    echo "Python 3.13 with venv is missing: install it (apt install python3.13-venv, brew install python@3.13," \
        "pyenv install 3.13 or uv python install 3.13) and run this again." >&2
    exit 1
fi
exec "$found" -m local.environments "$@"
