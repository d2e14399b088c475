#!/usr/bin/env bash
# Builds the site: site/build.sh [FOLDER], into target/site unless another folder is given.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-target/site}")
venv=target/site-venv

python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed" >&2; exit 1; }

# The tool, in the versions of requirements.txt; installed again only when that file has changed.
if ! cmp -s site/requirements.txt "$venv/requirements.txt"; then
    python3 -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --no-deps --requirement site/requirements.txt
    cp site/requirements.txt "$venv/requirements.txt"
fi

# Equal sources give equal bytes: the only time on the site is that of the last commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
"$venv/bin/python" site/stage.py target/site-pages
rm -rf "$out"
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --quiet --config-file target/site-pages/mkdocs.yml --site-dir "$out"
echo "built: $out"
