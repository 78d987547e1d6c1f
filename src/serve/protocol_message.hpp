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

/// Bounded in depth and in the number of values; no member is there twice. An empty text is an
/// empty object. errc::invalid_argument: what is wrong, for the client.
[[nodiscard]] result<message> read_message(std::string bytes, message_form form);

/// The bytes that a text of a header stands for: each character is a byte. Empty: it has another.
[[nodiscard]] std::optional<std::string> bytes_of_latin(std::string_view utf8);
/// The opposite.
[[nodiscard]] std::string latin_of_bytes(std::string_view bytes);
/// Header fields as pairs of such texts.
[[nodiscard]] json headers_of(const header_list& headers);

/// What the service answers.
struct reply_message {
  std::uint16_t status = 200;
  json object = json::object();
  std::string body_of;           ///< the member that the body belongs to; empty: there is none
  std::string body;              ///< bytes
  answer_ptr stored;             ///< has the body, in place of `body`: it is not copied
  milliseconds retry_after{-1};  ///< the field Retry-After; negative: none

  [[nodiscard]] std::string_view bytes() const noexcept { return stored ? stored->body : body; }
};

/// A reply as it is written: the text, and the body behind it.
struct encoded_reply {
  std::string text;
  reply_message behind;  ///< framed: has the body

  [[nodiscard]] std::string_view body() const noexcept { return behind.bytes(); }
  [[nodiscard]] std::size_t size() const noexcept { return text.size() + body().size(); }
};

/// Puts the answer into the member `name` of the reply, with its body.
void put_answer(reply_message& out, const char* name, answer made);
void put_stored(reply_message& out, const char* name, answer_ptr stored);
/// The memory that the body takes while the reply is built and written in this form.
[[nodiscard]] std::size_t room_of(const reply_message& made, message_form form);
/// The reply in this form.
[[nodiscard]] encoded_reply encode(reply_message made, message_form form);
/// The reply as one JSON value, for a batch.
[[nodiscard]] json value_of(reply_message made);

}  // namespace onceguard::serve
