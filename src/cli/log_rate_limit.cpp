#include "cli/log_rate_limit.hpp"

namespace onceguard::cli {

log_rate_limit::decision log_rate_limit::decide(std::string_view event, time_point now) {
  auto found = events_.find(event);
  if (found == events_.end()) found = events_.emplace(std::string(event), stretch{now, 0}).first;
  auto& subject = found->second;
  decision out;
  if (now - subject.begin >= std::chrono::seconds(1)) {
    out.left_out = subject.lines > most_a_second ? subject.lines - most_a_second : 0;
    subject = {now, 0};
  }
  out.pass = ++subject.lines <= most_a_second;
  return out;
}

}  // namespace onceguard::cli
