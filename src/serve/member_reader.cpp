#include "serve/member_reader.hpp"

#include <algorithm>

#include "base/base64.hpp"
#include "base/octets.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::serve {

namespace {

constexpr std::size_t headers_max = 200;

std::string_view name_of(json::value_t type) {
  switch (type) {
    case json::value_t::object:
      return "an object";
    case json::value_t::array:
      return "a list";
    case json::value_t::boolean:
      return "true or false";
    case json::value_t::number_unsigned:
      return "a whole number";
    default:
      return "a text";
  }
}

}  // namespace

member_reader::member_reader(json& object, std::string where,
                             std::initializer_list<std::string_view> known, std::string& fault)
    : object_(object), where_(std::move(where)), fault_(fault) {
  for (const auto& [name, value] : object_.items()) {
    const bool known_here = std::find(known.begin(), known.end(), name) != known.end();
    if (!known_here && !value.is_null()) {
      refuse(name, "there is no such member");
    }
  }
}

std::string member_reader::path(std::string_view name) const {
  const auto shown = plain_text(name);
  return where_.empty() ? shown : where_ + "." + shown;
}

void member_reader::refuse(std::string_view name, std::string_view why) {
  if (fault_.empty()) fault_ = path(name) + ": " + std::string(why);
}

json* member_reader::get(const char* name, json::value_t type, bool needed) {
  const auto found = object_.find(name);
  if (found == object_.end() || found->is_null()) {
    if (needed) refuse(name, "is missing");
    return nullptr;
  }
  if (found->type() == type) return &*found;
  refuse(name, "expected " + std::string(name_of(type)));
  return nullptr;
}

std::string member_reader::text(const char* name, bool needed) {
  auto* const found = get(name, json::value_t::string, needed);
  return found == nullptr ? std::string() : std::move(found->get_ref<std::string&>());
}

bool member_reader::flag(const char* name, bool otherwise) {
  const auto* const found = get(name, json::value_t::boolean);
  return found == nullptr ? otherwise : found->get<bool>();
}

std::optional<milliseconds> member_reader::duration(const char* name) {
  const auto* const found = get(name, json::value_t::number_unsigned);
  if (found == nullptr) return std::nullopt;
  const auto most = static_cast<std::uint64_t>(milliseconds::max().count());
  return milliseconds(std::min(found->get<std::uint64_t>(), most));
}

std::string member_reader::latin(const char* name, bool needed) {
  auto bytes = bytes_of_latin(text(name, needed));
  if (!bytes) refuse(name, "expected characters from U+0000 to U+00FF");
  return std::move(bytes).value_or(std::string());
}

std::optional<std::string> member_reader::body(std::optional<std::string>& framed) {
  const int given = static_cast<int>(has("body")) + static_cast<int>(has("body_base64")) +
                    static_cast<int>(framed && !framed->empty());
  if (given > 1) refuse("body", "is there twice: as text, as base64 or behind the line");
  if (framed && !framed->empty()) return std::move(framed);
  if (has("body")) return text("body");
  if (has("body_base64")) {
    auto bytes = base::from_base64(text("body_base64"));
    if (!bytes) refuse("body_base64", "expected base64");
    return bytes;
  }
  return std::move(framed);
}

void member_reader::read_header(const json& each, std::size_t index, header_list& out) {
  const auto name = "headers[" + std::to_string(index) + "]";
  const auto wrong = [&](std::string_view why) {
    if (fault_.empty())
      fault_ = (where_.empty() ? name : where_ + "." + name) + ": " + std::string(why);
  };
  const bool pair =
      each.is_array() && each.size() == 2 && each[0].is_string() && each[1].is_string();
  if (!pair) return wrong("expected a pair of texts, name and value");
  const auto& field = each[0].get_ref<const std::string&>();
  if (!base::is_token(field)) return wrong("the name is none of a header field");
  auto value = bytes_of_latin(each[1].get_ref<const std::string&>());
  if (!value) return wrong("the value has a character above U+00FF");
  if (!base::is_field_value(*value)) return wrong("the value has a control character");
  out.emplace_back(field, *std::move(value));
}

header_list member_reader::headers() {
  header_list out;
  const auto* const list = get("headers", json::value_t::array);
  if (list == nullptr) return out;
  if (list->size() > headers_max) {
    refuse("headers", "more than " + std::to_string(headers_max) + " fields");
    return out;
  }
  out.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) read_header((*list)[i], i, out);
  return out;
}

}  // namespace onceguard::serve
