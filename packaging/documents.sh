#!/usr/bin/env bash
# documents.sh PROGRAM FOLDER: the man pages and the completions, made from what the program says of
# itself: its help, the table of options, the table of events.
set -euo pipefail
program="$(realpath "$1")"
folder="$2"
mkdir -p "$folder/man"

# The names of the commands below the one whose words are given.
commands() {
  "$program" "$@" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# One page of section 1: help2man asks a program, which the words of a command are not.
page() {
  local name="onceguard${*:+-}" about
  name+="$(IFS=- && echo "$*")"
  about="$("$program" "$@" --help | sed -n 1p)"
  printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$program" "$*" >"$folder/$name"
  chmod +x "$folder/$name"
  help2man --no-info --name="${about%.}" --version-string="$version" \
    --source="onceguard $version" --manual="Onceguard" --include="$folder/see_also" \
    --output="$folder/man/$name.1" "$folder/$name"
  rm "$folder/$name"
}

# A page of another section from a page of Markdown: page_of NAME SECTION TITLE.
page_of() {
  local date
  date="$(date --utc --date="@${SOURCE_DATE_EPOCH:-$(date +%s)}" '+%B %Y')"
  {
    printf '# %s %s "%s" "onceguard %s" "Onceguard"\n' "$1" "$2" "$date" "$version"
    printf '\n# NAME\n%s \\- %s\n\n# DESCRIPTION\n' "$1" "$3"
    # Without its title, and what is said there of the page itself.
    sed -e '1,/^$/d' | sed -e '1,/^$/d' \
      -e 's/^\(##*\) `\(.*\)`$/\1 \2/' -e 's/\[\([^]]*\)\]([^)]*)/\1/g'
  } | go-md2man >"$folder/man/$1.$2"
}

version="$("$program" --version | sed 's/^onceguard \([^ ]*\).*/\1/')"
cat >"$folder/see_also" <<'TEXT'
[see also]
.BR onceguard (1),
.BR onceguard.toml (5),
.BR onceguard-events (7)
TEXT
page
for command in $(commands); do
  page "$command"
  for below in $(commands "$command"); do page "$command" "$below"; done
done
"$program" check --reference | page_of onceguard.toml 5 "the configuration of onceguard"
# A row of the table becomes a paragraph with a heading: a page is too narrow for four columns.
"$program" check --events |
  sed -E -e '/^\| (event|---) /d' \
    -e 's/^\| `([^`]+)`( \*r\*)? \| (\w+) \| ([^|]*) \|/### \1\nLevel \3\2. Fields: \4. |/' \
    -e 's/ Fields: \. \|/ |/' -e 's/(\nLevel [^|]*) \| (.*) \|$/\1\n\n\2\n/' |
  page_of onceguard-events 7 "the events in the log of onceguard"
rm "$folder/see_also"
# Under the names by which the shells look for them.
mkdir -p "$folder/completions"/{bash,zsh,fish}
"$program" completions bash >"$folder/completions/bash/onceguard"
"$program" completions zsh >"$folder/completions/zsh/_onceguard"
"$program" completions fish >"$folder/completions/fish/onceguard.fish"
