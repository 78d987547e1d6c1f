# The packages of tools/packages.txt and of npm: which are missing, and their installation. Part of
# ./dev, whose `say` and `die` it calls.
# shellcheck shell=bash

# The packages of one section of tools/packages.txt.
packages_of() {
  awk -v want="[$1]" '/^[[:space:]]*(#|$)/ {next} /^\[/ {on = ($1 == want); next} on {print $1}' \
    tools/packages.txt
}

has_node() {
  command -v npm >/dev/null && command -v node >/dev/null &&
    node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' </dev/null
}

# Those of a section that are not installed.
missing_of() {
  local package
  packages_of "$1" | while read -r package; do
    case "$package" in nodejs | npm) has_node && continue ;; esac
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
      printf '%s\n' "$package"
  done
}

install_section() {
  local missing
  mapfile -t missing < <(missing_of "$1")
  ((${#missing[@]})) || return 0
  say "installing ${missing[*]}"
  command -v apt-get >/dev/null || die "needs these packages, and here is no apt-get to get them"
  local as_root=()
  ((EUID == 0)) || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  # A server that a package brings is for the tests to start, not for the system.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

install_everything() {
  install_debian
  npm_everything
}

install_debian() {
  install_section build
  install_section test
}

npm_everything() {
  npm_packages tests
  npm_packages examples/express
  npm_packages examples/express-postgres
}

verb_deps() {
  case "${1:-test}" in
    build) install_section build ;;
    test) install_everything ;;
    *) die "deps takes build or test" ;;
  esac
}

# The npm packages of a folder that has a package.json, unless they are there and newer than it.
npm_packages() {
  [[ -f "$1/package.json" ]] || return 0
  local wanted="$1/package.json" how=install
  [[ -f "$1/package-lock.json" ]] && wanted="$1/package-lock.json" how=ci
  [[ "$1/node_modules/.package-lock.json" -nt "$wanted" ]] && return 0
  say "npm $how in $1"
  (cd "$1" && npm "$how" --no-audit --no-fund --loglevel=error)
}
