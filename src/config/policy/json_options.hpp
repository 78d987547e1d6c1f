// Options that are written as a JSON object.
#pragma once
#include <string_view>

#include <onceguard/error.hpp>

#include "config/table/document.hpp"

namespace onceguard::config {

/// The object as a table of a document. errc::invalid_argument: it is none, or has a value in it
/// that no option has (null, deep nesting).
[[nodiscard]] result<node> read_json_options(std::string_view json);

}  // namespace onceguard::config
