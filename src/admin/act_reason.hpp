// Why an operator acts: for the audit log.
#pragma once
#include <string>

#include <nlohmann/json.hpp>

#include "base/ascii.hpp"
#include "base/json_reader.hpp"

namespace onceguard::admin {

/// The member `reason` of an act; refuses an empty one, and one of more than 1,000 bytes.
[[nodiscard]] inline std::string read_reason(const base::json_reader<nlohmann::json>& object) {
  constexpr std::size_t size_max = 1'000;
  const auto reason = object.at("reason");
  auto text = reason.text();
  if (base::trim(text).empty()) reason.refuse("is empty; the audit log needs one");
  if (text.size() > size_max) reason.refuse("has more than 1000 bytes");
  return text;
}

}  // namespace onceguard::admin
