#include "serve/message.hpp"

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/utf8.hpp"
#include "text/json_text.hpp"

namespace onceguard::serve {
namespace {

constexpr int depth_max = 8;
constexpr std::size_t values_max = 100'000;

error no_message(std::string why) { return {errc::invalid_argument, std::move(why)}; }

/// Ends the parser early.
struct too_much {
  const char* why;
};

result<json> parse(std::string_view text) {
  std::size_t values = 0;
  const auto count = [&values](int depth, json::parse_event_t event, json&) {
    if (depth > depth_max) throw too_much{"the JSON is nested too deep"};
    const bool begins =
        event != json::parse_event_t::object_end && event != json::parse_event_t::array_end;
    if (begins && ++values > values_max) throw too_much{"the JSON has too many values"};
    return true;
  };
  try {
    return json::parse(text, count);
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

result<message> read_message(std::string_view bytes, message_form form) {
  message out;
  auto text = bytes;
  if (form == message_form::framed) {
    const auto line_end = bytes.find('\n');
    if (line_end == bytes.npos)
      return no_message("the line of the framed message has no line feed");
    text = bytes.substr(0, line_end);
    out.body = std::string(bytes.substr(line_end + 1));
  }
  if (text.empty()) return out;
  auto read = parse(text);
  if (!read) return std::move(read).error();
  if (!read->is_object()) return no_message("the message is no JSON object");
  out.object = std::move(*read);
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

json members_of(const answer& made) {
  json headers = json::array();
  for (const auto& [name, value] : made.headers) {
    headers.push_back(json::array({name, latin_of_bytes(value)}));
  }
  return {{"status", made.status}, {"headers", std::move(headers)}};
}

void put_answer(reply_message& out, const char* name, const answer& made) {
  out.object[name] = members_of(made);
  out.body_of = name;
  out.body = made.body;
}

json value_of(reply_message made) {
  if (made.body && !made.body_of.empty()) {
    auto& owner = made.object[made.body_of];
    if (is_utf8(*made.body)) {
      owner["body"] = std::move(*made.body);
    } else {
      owner["body_base64"] = base::to_base64(*made.body);
    }
  }
  return std::move(made.object);
}

std::string encode(const reply_message& made, message_form form) {
  constexpr auto lenient = json::error_handler_t::replace;
  if (form == message_form::plain) return value_of(made).dump(-1, ' ', false, lenient);
  auto out = made.object.dump(-1, ' ', false, lenient);
  out += '\n';
  if (made.body) out += *made.body;
  return out;
}

}  // namespace onceguard::serve
