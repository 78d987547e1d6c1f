#include "cli/log_rate_limit.hpp"

namespace onceguard::cli {

log_rate_limit::decision log_rate_limit::inspection(std::string_view event, time_point now) {
  auto found = events_.find(event);
  if (found == events_.end()) found = events_.emplace(std::string(event), stretch{now, 0}).first;
  auto& of = found->second;
  decision out;
  if (now - of.begin >= std::chrono::seconds(1)) {
    out.left_out = of.lines > most_a_second ? of.lines - most_a_second : 0;
    of = {now, 0};
  }
  out.pass = ++of.lines <= most_a_second;
  return out;
}

}  // namespace onceguard::cli
