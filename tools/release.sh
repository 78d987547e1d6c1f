#!/usr/bin/env bash
# The parts of a release that compile nothing. ./dev release calls them in their order.
#
#   release.sh check                          is the tree one that can be released?
#   release.sh tarball FOLDER                 onceguard-VERSION.tar.gz of the last commit
#   release.sh sums FOLDER [--key FILE]       SHA256SUMS of what is in the folder, signed
#   release.sh collect [--key FILE] [--tag]   all of it in build/release-VERSION, and then the tag
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

die() {
  printf 'release: %s\n' "$*" >&2
  exit 1
}

version="$(sed -n 's/.*string_view version = "\(.*\)";/\1/p' include/onceguard/version.hpp)"
[[ "$version" =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "include/onceguard/version.hpp has no version"
number="$(sed -n 's/^#define ONCEGUARD_VERSION \([0-9]*\)$/\1/p' include/onceguard/version.hpp)"

check() {
  local major minor patch unclean
  unclean="$(git status --porcelain)"
  [[ -z "$unclean" ]] || die "the tree has changes that are not committed: $unclean"
  IFS=. read -r major minor patch <<<"$version"
  ((number == 10000 * major + 100 * minor + patch)) ||
    die "include/onceguard/version.hpp: ONCEGUARD_VERSION is $number, and the version $version"
  grep -Eq "^## \[${version//./\\.}\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md ||
    die "CHANGELOG.md has no line \"## [$version] - YYYY-MM-DD\""
  [[ -z "$(unreleased)" ]] ||
    die "CHANGELOG.md has changes under [Unreleased]: move them to [$version]"
  if git rev-parse -q --verify "refs/tags/v$version" >/dev/null &&
    [[ "$(git rev-parse "v$version^{commit}")" != "$(git rev-parse HEAD)" ]]; then
    die "the tag v$version is that of another commit: raise the version"
  fi
}

# The lines of the changes that are in no release yet.
unreleased() { awk '/^## /{on = /\[Unreleased\]/; next} on && NF' CHANGELOG.md; }

# The same bytes for the same commit: git archive takes its time, and gzip none.
tarball() {
  local name="onceguard-$version"
  mkdir -p "$1"
  git archive --format=tar --prefix="$name/" HEAD | gzip -n -9 >"$1/$name.tar.gz"
}

# sums FOLDER [--key FILE]: a key of ssh signs with ssh-keygen; anything else names one of gpg.
sums() {
  (cd "$1" && rm -f SHA256SUMS.* && find . -type f ! -name 'SHA256SUMS*' -printf '%P\n' |
    LC_ALL=C sort | xargs -d '\n' sha256sum -- >SHA256SUMS)
  [[ "${2:-}" == --key ]] || return 0
  if [[ -f "$3" ]]; then
    ssh-keygen -q -Y sign -f "$3" -n onceguard-release "$1/SHA256SUMS"
  else
    gpg --batch --yes --armor --local-user "$3" --output "$1/SHA256SUMS.asc" \
      --detach-sign "$1/SHA256SUMS"
  fi
}

collect() {
  local folder="build/release-$version" key=() tag=false
  while (($#)); do
    case "$1" in
      --key) key=(--key "${2:?--key takes a file of ssh, or the name of a key of gpg}"); shift ;;
      --tag) tag=true ;;
      *) die "takes --key and --tag, not $1" ;;
    esac
    shift
  done
  check
  rm -rf "$folder"
  tarball "$folder"
  cp build/release/onceguard.spdx.json "$folder/onceguard-$version.spdx.json"
  if [[ -d build/package ]]; then
    find build/package -maxdepth 1 -type f -exec cp -t "$folder" {} +
  fi
  sums "$folder" "${key[@]}"
  if "$tag"; then git tag -a "v$version" -m "Onceguard $version"; fi
  (cd "$folder" && ls -l && sha256sum --check --quiet SHA256SUMS)
  echo "release: $folder"
}

case "${1:-}" in
  check | tarball | sums | collect) "$@" ;;
  *) die "check, tarball FOLDER, sums FOLDER [--key FILE] or collect [--key FILE] [--tag]" ;;
esac
