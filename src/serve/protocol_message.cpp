#include "serve/protocol_message.hpp"

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/utf8.hpp"
#include "json/scalars.hpp"
#include "serve/doubled_member.hpp"
#include "serve/json_body.hpp"

namespace onceguard::serve {
namespace {

constexpr int depth_max = 8;
constexpr std::size_t values_max = 100'000;

error no_message(std::string why) { return {errc::invalid_argument, std::move(why)}; }

/// Ends the parser early.
struct too_much {
  const char* why;
};

/// Watches the parser: bounds, and members that are there twice.
class parse_watch {
 public:
  bool take(int depth, json::parse_event_t event, const json& parsed) {
    using enum json::parse_event_t;
    if (depth > depth_max) throw too_much{"the JSON is nested too deep"};
    if (event != object_end && event != array_end && ++values_ > values_max) {
      throw too_much{"the JSON has too many values"};
    }
    if (event == object_start) members_.push_back(0);
    if (event == key) ++members_.back();
    if (event == object_end) {
      if (members_.back() != parsed.size()) doubled_ = true;
      members_.pop_back();
    }
    return true;
  }
  [[nodiscard]] bool doubled() const noexcept { return doubled_; }

 private:
  std::size_t values_ = 0;
  std::vector<std::size_t> members_;  // of each object that is open, as they came
  bool doubled_ = false;
};

result<json> parse(std::string_view text) {
  parse_watch watch;
  const auto take = [&watch](int depth, json::parse_event_t event, json& parsed) {
    return watch.take(depth, event, parsed);
  };
  try {
    auto out = json::parse(text, take);
    if (watch.doubled()) return no_message(doubled_member_in(text) + ": is there twice");
    return out;
  } catch (const too_much& fault) {
    return no_message(fault.why);
  } catch (const json::parse_error& fault) {
    return no_message("not JSON, at byte " + std::to_string(fault.byte));
  } catch (const json::exception&) {
    return no_message("not JSON: a number is out of range");
  }
}

std::string_view type_in(std::string_view field) {
  return base::trim(field.substr(0, field.find(';')));
}

}  // namespace

std::optional<message_form> form_of_content(std::string_view content_type) {
  const auto type = type_in(content_type);
  if (base::iequals(type, "application/json")) return message_form::plain;
  if (base::iequals(type, framed_type)) return message_form::framed;
  return std::nullopt;
}

message_form form_accepted(std::string_view accept) {
  while (!accept.empty()) {
    const auto comma = accept.find(',');
    if (base::iequals(type_in(accept.substr(0, comma)), framed_type)) return message_form::framed;
    accept = comma == accept.npos ? std::string_view{} : accept.substr(comma + 1);
  }
  return message_form::plain;
}

result<message> read_message(std::string bytes, message_form form) {
  message out;
  auto line_end = bytes.size();
  if (form == message_form::framed) {
    line_end = bytes.find('\n');
    if (line_end == bytes.npos)
      return no_message("the line of the framed message has no line feed");
  }
  if (line_end != 0) {
    auto read = parse(std::string_view(bytes).substr(0, line_end));
    if (!read) return std::move(read).error();
    if (!read->is_object()) return no_message("the message is no JSON object");
    out.object = std::move(*read);
  }
  if (form == message_form::framed) {
    bytes.erase(0, line_end + 1);
    out.body = std::move(bytes);
  }
  return out;
}

std::optional<std::string> bytes_of_latin(std::string_view utf8) {
  std::string out;
  out.reserve(utf8.size());
  while (!utf8.empty()) {
    const auto next = base::first_character(utf8);
    if (next.size == 0 || next.value > 0xFF) return std::nullopt;
    out += static_cast<char>(static_cast<unsigned char>(next.value));
    utf8.remove_prefix(next.size);
  }
  return out;
}

std::string latin_of_bytes(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (const char c : bytes) {
    base::append_character(out, static_cast<unsigned char>(c));
  }
  return out;
}

json headers_of(const header_list& headers) {
  json out = json::array();
  for (const auto& [name, value] : headers) {
    out.push_back(json::array({name, latin_of_bytes(value)}));
  }
  return out;
}

namespace {

/// The answer as members: {"status", "headers"}.
json members_of(const answer& made) {
  return {{"status", made.status}, {"headers", headers_of(made.headers)}};
}

std::string text_of(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Opens an object's text for one more member.
void reopen(std::string& text) {
  text.pop_back();
  if (text.back() != '{') text += ',';
}

constexpr std::size_t base64_size(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

}  // namespace

void put_answer(reply_message& out, const char* name, answer made) {
  out.object[name] = members_of(made);
  out.body_of = name;
  out.body = std::move(made.body);
}

void put_stored(reply_message& out, const char* name, answer_ptr stored) {
  out.object[name] = members_of(*stored);
  out.body_of = name;
  out.stored = std::move(stored);
}

std::size_t room_of(const reply_message& made, message_form form) {
  const auto bytes = made.bytes();
  if (form == message_form::framed || bytes.empty()) return bytes.size();
  if (const auto quoted = json_string_size(bytes)) return bytes.size() + *quoted;
  return bytes.size() + 2 * base64_size(bytes.size());
}

json value_of(reply_message made) {
  if (!made.body_of.empty()) {
    auto& owner = made.object[made.body_of];
    const auto bytes = made.bytes();
    if (!json_string_size(bytes)) {
      owner["body_base64"] = base::to_base64(bytes);
    } else if (made.stored) {
      owner["body"] = bytes;
    } else {
      owner["body"] = std::move(made.body);
    }
  }
  return std::move(made.object);
}

encoded_reply encode(reply_message made, message_form form) {
  encoded_reply out;
  if (form == message_form::framed) {
    out.text = text_of(made.object);
    out.text += '\n';
    out.behind = std::move(made);
    return out;
  }
  if (made.body_of.empty()) {
    out.text = text_of(made.object);
    return out;
  }
  auto owner = text_of(made.object[made.body_of]);
  made.object.erase(made.body_of);
  out.text = text_of(made.object);
  reopen(out.text);
  reopen(owner);
  const auto bytes = made.bytes();
  const auto quoted = json_string_size(bytes);
  out.text.reserve(out.text.size() + owner.size() + made.body_of.size() + 64 +
                   quoted.value_or(base64_size(bytes.size())));
  out.text.append("\"").append(made.body_of).append("\":").append(owner);
  if (quoted) {
    out.text += "\"body\":";
    append_json_string(out.text, bytes);
  } else {
    out.text.append("\"body_base64\":\"").append(base::to_base64(bytes)) += '"';
  }
  out.text += "}}";
  return out;
}

}  // namespace onceguard::serve
