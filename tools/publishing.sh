# What is made to be given to others: the site, the bill of materials, a release, and the proof that
# the one before can be upgraded. Part of ./dev, whose functions it calls.
# shellcheck shell=bash

# What the program is made of, with versions and licences.
verb_sbom() {
  install_section test
  say "building build/release/onceguard"
  configure release
  compile release --target onceguard
  "$python" tools/sbom/spdx.py build/release build/release/onceguard.spdx.json
}

# The same commit makes the same image: its time is the one that the files get.
verb_image() {
  install_section build
  say "building build/release/onceguard"
  configure release
  compile release --target onceguard
  export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}"
  exec "$python" packaging/image/make_image.py build/release/onceguard build/image/onceguard.tar
}

# What a release has. tools/release.sh has its parts; the packages come from verb_package.
verb_release() {
  tools/release.sh check
  verb_sbom
  if [[ "$(type -t verb_package)" == function ]]; then verb_package; fi
  tools/release.sh collect "$@"
}

# The last commit whose stores have the schemas that 0.1.0 began with: SQLite's 2, PostgreSQL's 21.
older_schemas=cb6cdad14c0e1a04f09fa60829fa80e40d3761f0

# The release before beside this one, and in its place: tools/former_release.sh has it built. And
# what a program of other schemas left.
verb_upgrades() {
  install_everything
  say "building build/release/onceguard"
  configure release
  compile release --target onceguard
  tools/former_release.sh build/former-release
  tools/former_release.sh build/older-release "$older_schemas"
  export ONCEGUARD_TEST_SCALE="${ONCEGUARD_TEST_SCALE:-0.15}"
  export ONCEGUARD_FORMER="$PWD/build/former-release/onceguard"
  export ONCEGUARD_OLDER="$PWD/build/older-release/onceguard"
  cd tests
  exec "$python" -m pytest -q gateway/former_release.py gateway/older_schemas.py \
    gateway/hand_over_test.py gateway/hand_over_load_*test.py
}

verb_site() {
  install_section test
  exec tools/site/build.sh build/site "$@"
}
