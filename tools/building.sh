# Configures and compiles the builds of CMakePresets.json. Part of ./dev, whose functions and
# variables it uses.
# shellcheck shell=bash disable=SC2154

# What was compiled before is taken from ccache's folder, where ccache is installed: a build after
# `./dev clean`, or of a branch that was built before, takes a minute or two. (In another clone: the
# release; what clang compiles has the folder's name in it.) CCACHE_DISABLE=1 builds without.
launchers() {
  local words="" language # of none: the build folder may still name one
  # The precompiled headers of ours hold no time and no macro that a file redefines.
  [[ "$1" != fuzz ]] && command -v ccache >/dev/null &&
    words="env;CCACHE_BASEDIR=$PWD;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache"
  for language in C CXX; do printf -- '-DCMAKE_%s_COMPILER_LAUNCHER=%s\n' "$language" "$words"; done
}

# configure PRESET [cmake arguments]: with the tests where their packages are installed.
configure() {
  local tests=OFF launcher
  mapfile -t launcher < <(launchers "$1")
  [[ -z "$(missing_of test)" ]] && tests=ON
  [[ "$1" == fuzz ]] && tests=OFF
  cmake --preset "$1" -DONCEGUARD_TESTS="$tests" "${launcher[@]}" "${@:2}" \
    >"build/$1.configure.log" 2>&1 || {
    cat "build/$1.configure.log" >&2
    die "cmake --preset $1 failed"
  }
}

compile() { cmake --build "build/$1" -j "$jobs" "${@:2}"; }

verb_build() {
  local preset="${1:-release}"
  install_section build
  say "building build/$preset"
  configure "$preset"
  compile "$preset"
}

verb_demo() {
  install_section build
  say "building build/release/onceguard"
  configure release
  compile release --target onceguard
  echo
  exec build/release/onceguard demo "$@"
}
