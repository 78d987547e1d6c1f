// The admin API's configuration, reload, the counts of observe mode, and the document that
// describes the API.
#pragma once
#include <string_view>

#include "admin/program.hpp"
#include "admin/resource.hpp"
#include "observing/observation.hpp"

namespace onceguard::admin {

/// src/admin/openapi.json, which is compiled in.
[[nodiscard]] std::string_view openapi_document() noexcept;

/// Both must outlive the listener.
[[nodiscard]] resources control_resources(program& program, const observing::observation& observed);

}  // namespace onceguard::admin
