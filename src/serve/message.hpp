// The messages of the protocol (docs/protocol.md): one JSON object, with a body in it or behind it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard::serve {

using json = nlohmann::json;
using header_list = std::vector<std::pair<std::string, std::string>>;

enum class message_form : std::uint8_t { plain, framed };

inline constexpr std::string_view framed_type = "application/vnd.onceguard.framed";

/// The form that a Content-Type names; none: it is another one.
[[nodiscard]] std::optional<message_form> form_of_content(std::string_view content_type);
/// The form that an Accept field asks for.
[[nodiscard]] message_form form_accepted(std::string_view accept);

struct message {
  json object = json::object();
  std::optional<std::string> body;  ///< framed: what stands behind the object
};

/// Bounded in depth and in the number of values. An empty text is an empty object.
/// errc::invalid_argument: what is wrong, for the client.
[[nodiscard]] result<message> read_message(std::string_view bytes, message_form form);

/// The bytes that a text of a header stands for: each character is a byte. Empty: it has another.
[[nodiscard]] std::optional<std::string> bytes_of_latin(std::string_view utf8);
/// The opposite.
[[nodiscard]] std::string latin_of_bytes(std::string_view bytes);

/// What the service answers.
struct reply_message {
  std::uint16_t status = 200;
  json object = json::object();
  std::string body_of;              ///< the member that `body` belongs to; empty: there is no body
  std::optional<std::string> body;  ///< bytes
  milliseconds retry_after{-1};     ///< the field Retry-After; negative: none
};

/// The answer as members: {"status", "headers"}.
[[nodiscard]] json members_of(const answer& made);
/// Puts the answer into the member `name` of the reply, with its body.
void put_answer(reply_message& out, const char* name, const answer& made);
/// The reply in this form.
[[nodiscard]] std::string encode(const reply_message& made, message_form form);
/// The reply as one JSON value, for a batch.
[[nodiscard]] json value_of(reply_message made);

}  // namespace onceguard::serve
