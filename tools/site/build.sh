#!/usr/bin/env bash
# The site of the documentation: lays out its pages, renders them and checks every link.
#
#   build.sh FOLDER [--external]   makes FOLDER/html; --external asks the links to other hosts, too
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder="${1:?the folder of the site}"
[[ "${2:-}" == "" || "${2:-}" == --external ]] || { echo "site: takes --external" >&2; exit 2; }
rm -rf "$folder/pages" "$folder/html"
mkdir -p "$folder"
/usr/bin/python3 tools/site/stage.py . "$folder"
mkdocs build --quiet --config-file "$folder/mkdocs.yml"
/usr/bin/python3 tools/site/check.py "$folder/html" ${2:+"$2"}
if [[ "${2:-}" == --external ]]; then
  linkchecker --no-status --no-warnings --recursion-level=1 --check-extern \
    "$folder/html/external.html"
fi
echo "site: open $folder/html/index.html; for the search it has to be served:"
echo "site: python3 -m http.server --bind 127.0.0.1 --directory $folder/html"
