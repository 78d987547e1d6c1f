#include "serve/doubled_member.hpp"

#include <cstddef>
#include <unordered_set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "text/terminal_text.hpp"

namespace onceguard::serve {
namespace {

using nlohmann::json;

/// Finds the first member that is there twice, in a text that is JSON.
class doubled_member {
 public:
  void take(json::parse_event_t event, const json& parsed) {
    using enum json::parse_event_t;
    if (event == key) return take_name(parsed.get<std::string>());
    if (event == object_end || event == array_end) {
      open_.pop_back();
      return;
    }
    if (!open_.empty() && open_.back().is_list) ++open_.back().index;
    if (event == object_start) open_.push_back({});
    if (event == array_start) open_.push_back({.is_list = true});
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  struct level {
    bool is_list = false;
    std::size_t index = 0;  // of a list: the number of the next value
    std::string name{};     // of an object: the last member
    std::unordered_set<std::string> names{};
  };

  void take_name(std::string name) {
    auto& object = open_.back();
    object.name = std::move(name);
    if (object.names.insert(object.name).second || !path_.empty()) return;
    for (const auto& each : open_) {
      if (each.is_list) {
        path_ += '[' + std::to_string(each.index - 1) + ']';
      } else {
        path_ += (path_.empty() ? "" : ".") + plain_text(each.name);
      }
    }
  }

  std::vector<level> open_;
  std::string path_;
};

}  // namespace

std::string doubled_member_in(std::string_view text) {
  doubled_member found;
  const auto watch = [&found](int, json::parse_event_t event, json& parsed) {
    found.take(event, parsed);
    return true;
  };
  const json whole = json::parse(text, watch);
  return found.path();
}

}  // namespace onceguard::serve
