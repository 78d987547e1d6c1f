// Records as commands show them: one line, a page of text, or JSON.
#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <onceguard/store.hpp>

namespace onceguard::cli {

/// One line for a list, without the line end.
[[nodiscard]] std::string record_line(const record_view& seen);
/// All of it, in lines of "name  value"; the body only where it is text.
[[nodiscard]] std::string record_page(const record_view& seen);
/// The body of the answer is left out of lists.
[[nodiscard]] nlohmann::ordered_json record_json(const record_view& seen, bool with_body);
/// One that can't be read, in the same forms.
[[nodiscard]] std::string record_line(const unreadable_record& seen);
[[nodiscard]] std::string record_page(const unreadable_record& seen);
[[nodiscard]] nlohmann::ordered_json record_json(const unreadable_record& seen);
/// As one line.
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& value);

}  // namespace onceguard::cli
