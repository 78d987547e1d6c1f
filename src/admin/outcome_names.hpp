// The names of what requests got, as callers give them.
#pragma once
#include <cstddef>
#include <string_view>

#include "http/request_report.hpp"

namespace onceguard::admin {

[[nodiscard]] inline bool is_outcome(std::string_view name) noexcept {
  for (std::size_t i = 0; i < http::request_outcomes; ++i) {
    if (http::name_of(static_cast<http::request_outcome>(i)) == name) return true;
  }
  return false;
}

}  // namespace onceguard::admin
