// The web page: an operator's view of the admin API, carried by the program.
#pragma once
#include <string_view>

#include "admin/resource.hpp"

namespace onceguard::admin {

/// GET / and what that document names, without a token: who signs in needs the form.
[[nodiscard]] resources page_resources();

// Made from web/ by the build.
[[nodiscard]] std::string_view page_document() noexcept;
[[nodiscard]] std::string_view page_script() noexcept;
[[nodiscard]] std::string_view page_style() noexcept;

}  // namespace onceguard::admin
