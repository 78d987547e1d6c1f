#!/usr/bin/env bash
# build.sh FOLDER: the source package and the binary packages of the committed state, in FOLDER. The
# same commit gives the same bytes: every time in them is that of the commit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder="$(realpath -m "$1")"
version="$(sed -n 's/^inline constexpr std::string_view version = "\(.*\)";$/\1/p' \
  include/onceguard/version.hpp)"
when="$(git log -1 --format=%ct)"
export SOURCE_DATE_EPOCH="$when" LC_ALL=C.UTF-8 TZ=UTC
[[ -z "$(git status --porcelain)" ]] || echo "package: what is not committed is left out" >&2

work="$(mktemp -d -t onceguard-package-XXXXXX)"
trap 'rm -rf "$work"' EXIT
git archive --format=tar --prefix="onceguard-$version/" HEAD >"$work/source.tar"
tar -xf "$work/source.tar" -C "$work"
xz -T1 <"$work/source.tar" >"$work/onceguard_$version.orig.tar.xz"
rm "$work/source.tar"
cd "$work/onceguard-$version"
cp -r packaging/deb debian
rm debian/build.sh
cat >debian/changelog <<LOG
onceguard ($version-1) unstable; urgency=medium

  * Release $version: CHANGELOG.md says what changed.

 -- The Onceguard authors <onceguard@localhost>  $(date --utc --rfc-email --date="@$when")
LOG
DEB_BUILD_OPTIONS="parallel=${ONCEGUARD_JOBS:-$(nproc)} ${DEB_BUILD_OPTIONS:-}" \
  dpkg-buildpackage --no-sign --build="${ONCEGUARD_PACKAGE_BUILD:-full}"
mkdir -p "$folder"
rm -f "$folder"/*onceguard*
find "$work" -maxdepth 1 -type f -exec mv -t "$folder" {} +
(cd "$folder" && ls -l ./*.deb)
