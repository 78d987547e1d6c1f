# The verbs of ./dev that play what may happen: the checked model, and the simulation.

verb_model() {
  install_section test
  exec "$python" model/check.py "$@"
}

# --seeds N, --hours N, or --seed S [--trace]; see docs/internals/simulation.md.
verb_simulate() {
  install_section build
  say "building build/release/onceguard_sim"
  configure release
  compile release --target onceguard_sim
  exec build/release/onceguard_sim --jobs "$jobs" "$@"
}

verb_chaos() {
  install_everything
  say "building build/release/onceguard"
  configure release
  compile release --target onceguard
  cd tests && exec "$python" -m chaos "$@"
}
