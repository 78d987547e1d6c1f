#!/usr/bin/env bash
# former_release.sh FOLDER [COMMIT]: the program of the release before this one, or of a commit or
# tag, built from its sources, as FOLDER/onceguard. FOLDER/commit names what it was built of; what
# is there already is not built again. It is compiled without optimisation: nothing measures it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# 0.1.0 has no tag: the last commit of that version, whose child is 0.2.0 in preparation.
first=5a03e739349cd961a731b693476a7fd2548e5598

die() {
  printf 'former_release: %s\n' "$*" >&2
  exit 1
}

# A tag at the last commit itself is this release, and not the one before.
former="${2:-$(git describe --tags --abbrev=0 --match 'v[0-9]*' 'HEAD^' 2>/dev/null ||
  echo "$first")}"
commit="$(git rev-parse -q --verify "$former^{commit}")" ||
  die "this repository has no commit $former; a shallow clone gets all by git fetch --unshallow"
folder="$(realpath -m "${1:?takes a folder}")"
if [[ -x "$folder/onceguard" && "$(cat "$folder/commit" 2>/dev/null)" == "$commit" ]]; then
  exit 0
fi
rm -rf "$folder"
mkdir -p "$folder/source"
echo "== building onceguard of $former in $folder"
git archive "$commit" | tar -x -C "$folder/source"
cd "$folder/source"
./dev deps build # what it needed, this version may not
cmake --preset release -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DONCEGUARD_TESTS=OFF \
  >"$folder/configure.log" 2>&1 ||
  { cat "$folder/configure.log" >&2; die "cmake failed"; }
cmake --build build/release -j "${ONCEGUARD_JOBS:-$(nproc)}" --target onceguard
mv build/release/onceguard "$folder/onceguard"
cd "$folder"
rm -rf source
./onceguard --version
echo "$commit" >commit
