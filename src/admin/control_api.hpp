// The admin API's configuration, reload, drain, and the document that describes the API.
#pragma once
#include <string_view>

#include "admin/program.hpp"
#include "admin/resource.hpp"

namespace onceguard::admin {

/// src/admin/openapi.json, which is compiled in.
[[nodiscard]] std::string_view openapi_document() noexcept;

[[nodiscard]] resources control_resources(program& program);

}  // namespace onceguard::admin
