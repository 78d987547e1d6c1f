// Members of JSON objects that are there twice: parsers differ in which of the two they take.
#pragma once
#include <string>
#include <string_view>

namespace onceguard::serve {

/// Where the first such member stands in a text that is JSON: "answer.headers[2].name"; empty:
/// there is none.
[[nodiscard]] std::string doubled_member_in(std::string_view text);

}  // namespace onceguard::serve
