#include "text/json_values.hpp"

#include <set>
#include <vector>

#include <nlohmann/json.hpp>

namespace onceguard {

using nlohmann::json;

namespace {

constexpr std::size_t depth_max = 512;

/// Sees each event of a parser, and remembers what makes a text ambiguous.
class ambiguity {
 public:
  void see(json::parse_event_t event, const json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        found_ = found_ || names_.size() >= depth_max;
        names_.emplace_back();
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        names_.pop_back();
        break;
      case json::parse_event_t::key:
        found_ = !names_.back().insert(parsed.get<std::string>()).second || found_;
        break;
      case json::parse_event_t::value:
        break;
    }
  }
  [[nodiscard]] bool found() const noexcept { return found_; }

 private:
  std::vector<std::set<std::string>> names_;  // of the open objects
  bool found_ = false;
};

}  // namespace

json_values::json_values(std::string_view text) {
  ambiguity seen;
  auto parsed = json::parse(
      text,
      [&](int, json::parse_event_t event, const json& value) {
        seen.see(event, value);
        return true;
      },
      false);
  if (!parsed.is_discarded() && !seen.found()) root_ = std::make_unique<json>(std::move(parsed));
}

json_values::json_values(json_values&& other) noexcept = default;
json_values& json_values::operator=(json_values&& other) noexcept = default;
json_values::~json_values() = default;

json_value json_values::at(std::string_view pointer) const {
  const json::json_pointer position{std::string(pointer)};
  if (!root_ || !root_->contains(position)) return {};
  const auto& value = root_->at(position);
  if (value.is_null()) return {};
  if (value.is_string()) return {json_value::kind::text, value.get<std::string>()};
  if (value.is_number_integer()) return {json_value::kind::text, value.dump()};
  return {json_value::kind::other};
}

bool json_values::lacks(std::string_view pointer) const {
  if (!root_ || at(pointer).type != json_value::kind::absent) return false;
  const auto index = pointer.substr(pointer.rfind('/') + 1);
  if (index.find_first_not_of("0123456789") != index.npos) return true;
  const auto parent = json::json_pointer{std::string(pointer)}.parent_pointer();
  return !root_->contains(parent) || root_->at(parent).is_array();
}

}  // namespace onceguard
