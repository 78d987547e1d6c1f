// The lines of the log that were written while it lives.
#pragma once
#include <algorithm>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/log.hpp"

namespace onceguard::testing {

class written_log final : public base::log_sink {
 public:
  written_log() { base::set_log_sink(this); }
  ~written_log() override { base::set_log_sink(nullptr); }
  void write(const base::event_info& event, base::log_level,
             std::span<const base::log_field> fields) override {
    std::string text(event.name);
    for (const auto& each : fields) {
      const auto* const value = std::get_if<std::string_view>(&each.value);
      if (value != nullptr) text += " " + std::string(*value);
    }
    const std::lock_guard locked(lock_);
    lines_.push_back(std::move(text));
  }
  /// Lines with this text: "page-unreadable", or of what it says.
  [[nodiscard]] std::size_t count(std::string_view text) const {
    const std::lock_guard locked(lock_);
    return static_cast<std::size_t>(std::count_if(
        lines_.begin(), lines_.end(),
        [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }

 private:
  mutable std::mutex lock_;
  std::vector<std::string> lines_;
};

}  // namespace onceguard::testing
