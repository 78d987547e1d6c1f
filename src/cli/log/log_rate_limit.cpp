#include "cli/log/log_rate_limit.hpp"

#include <algorithm>
#include <chrono>

namespace onceguard::cli::log {

bool log_rate_limit::passes(std::string_view event, time_point now) {
  constexpr std::chrono::seconds length(1);
  auto found = events_.find(event);
  if (found == events_.end()) found = events_.emplace(std::string(event), stretch{now}).first;
  auto& entry = found->second;
  if (now - entry.begin >= length) {
    entry.begin = now;
    entry.lines = 0;
  }
  if (++entry.lines <= most_a_second) return true;
  if (entry.left_out++ == 0) entry.due = entry.begin + length;
  due_ = std::min(due_, entry.due);
  return false;
}

std::vector<log_rate_limit::missing> log_rate_limit::take_missing(time_point now) {
  std::vector<missing> out;
  due_ = time_point::max();
  for (auto& [event, entry] : events_) {
    if (entry.left_out > 0 && now >= entry.due) {
      out.push_back({event, entry.left_out});
      entry.left_out = 0;
      entry.due = time_point::max();
    }
    due_ = std::min(due_, entry.due);
  }
  return out;
}

}  // namespace onceguard::cli::log
