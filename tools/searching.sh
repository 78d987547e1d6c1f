# Verbs that search for faults: planted bugs that no test notices, models, the simulation,
# disturbances in pairs.
# Part of ./dev, whose functions and variables they use.
# shellcheck shell=bash disable=SC2154

verb_mutants() {
  install_everything
  "$python" tools/mutants.py run "$@" --jobs "$jobs"
}

verb_model() {
  install_section test
  exec "$python" model/check.py "$@"
}

verb_chaos() {
  install_everything
  say "building build/release/onceguard"
  configure release
  compile release --target onceguard
  cd tests && exec "$python" -m chaos "$@"
}

# --world W, --seeds N, --hours N, or --seed S [--trace]; see docs/internals/simulation.md.
verb_simulate() {
  install_section build
  say "building build/release/onceguard_sim"
  configure release
  compile release --target onceguard_sim
  exec build/release/onceguard_sim --jobs "$jobs" "$@"
}
