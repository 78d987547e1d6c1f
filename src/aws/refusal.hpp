// What an answer that is no success says, in the JSON protocol of Amazon's services.
#pragma once
#include <string>
#include <string_view>

namespace onceguard::aws {

struct refusal {
  std::string code;   ///< "ThrottlingException": without a namespace; empty: there is none
  std::string words;  ///< for people
};

/// Of any bytes: what is no such answer has neither code nor words.
[[nodiscard]] refusal read_refusal(const std::string& body);

/// May the same request succeed a moment later?
[[nodiscard]] bool is_passing(long status, std::string_view code) noexcept;

/// Does the server let nobody in with these credentials, or with this clock?
[[nodiscard]] bool is_denial(long status, std::string_view code) noexcept;

/// Is the request's date too far from the server's? Requests are signed with their date.
[[nodiscard]] bool is_skew(const refusal& why) noexcept;

/// "the server refuses with 400 CODE: WORDS"
[[nodiscard]] std::string text_of(long status, const refusal& why);

}  // namespace onceguard::aws
