// The faults of texts that only policies have; empty: valid.
#pragma once
#include <string>
#include <string_view>

namespace onceguard::config {

[[nodiscard]] std::string guarded_method_complaint(std::string_view value);
[[nodiscard]] std::string pointer_complaint(std::string_view value);
[[nodiscard]] std::string probe_complaint(std::string_view value);

}  // namespace onceguard::config
