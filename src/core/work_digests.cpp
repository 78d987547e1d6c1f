#include "core/work_digests.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/form.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "core/field_kinds.hpp"

namespace onceguard::core {
namespace {

constexpr std::string_view work_mark = "2 work=";
constexpr std::size_t digits = 16;
/// To tell the work of a longer document would cost more than the advice is worth.
constexpr std::size_t longest_json = 64 * 1024;

/// Fields of a body that differ between two tries: the number of the try, tokens against forged
/// requests, and what a signature is made of.
constexpr std::array<std::string_view, 21> marks_of_a_try{"deliveryAttempt",
                                                          "delivery_attempt",
                                                          "attempt",
                                                          "attempts",
                                                          "retry",
                                                          "retryCount",
                                                          "retry_count",
                                                          "redelivered",
                                                          "csrf",
                                                          "_csrf",
                                                          "csrf_token",
                                                          "csrfToken",
                                                          "_token",
                                                          "_csrf_token",
                                                          "csrfmiddlewaretoken",
                                                          "authenticity_token",
                                                          "nonce",
                                                          "timestamp",
                                                          "signature",
                                                          "sign",
                                                          "ts"};

bool marks_a_try(std::string_view name) noexcept {
  return name.starts_with("oauth_") || base::iequals(name, "__RequestVerificationToken") ||
         std::find(marks_of_a_try.begin(), marks_of_a_try.end(), name) != marks_of_a_try.end();
}

/// For each byte, the marks that have it at this place: a bit for each mark.
constexpr auto marks_with(std::size_t position) noexcept {
  static_assert(marks_of_a_try.size() <= 32);
  std::array<std::uint32_t, 256> out{};
  for (std::size_t i = 0; i < marks_of_a_try.size(); ++i) {
    out[static_cast<unsigned char>(marks_of_a_try[i][position])] |= std::uint32_t{1} << i;
  }
  return out;
}
constexpr auto marks_by_first = marks_with(0);
constexpr auto marks_by_second = marks_with(1);

/// Which marks stand anywhere in the text. One pass, as nearly all bodies have none: two bytes rule
/// out what is looked for at nearly every place.
std::uint32_t marks_in(std::string_view text) noexcept {
  std::uint32_t found = 0;
  const auto byte = [text](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    auto left = marks_by_first[byte(i)];
    if (left == 0) continue;
    left &= marks_by_second[byte(i + 1)] & ~found;
    for (; left != 0; left &= left - 1) {
      const auto number = static_cast<std::size_t>(std::countr_zero(left));
      if (text.substr(i).starts_with(marks_of_a_try[number])) found |= std::uint32_t{1} << number;
    }
  }
  return found;
}

/// A list of texts, each behind its length, so that no two lists look alike.
class list_text {
 public:
  list_text& add(std::string_view part) {
    text_.reserve(text_.size() + part.size() + 8);  // one allocation for most lists
    text_.append(std::to_string(part.size())) += ':';
    text_ += part;
    return *this;
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] std::string digest() const {
    const auto value = base::checksum_of(text_);
    std::array<unsigned char, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<unsigned char>(value >> (8 * (bytes.size() - 1 - i)));
    }
    return base::to_hex(bytes);
  }

 private:
  std::string text_;
};

std::string sorted_text(std::vector<std::string> entries) {
  std::sort(entries.begin(), entries.end());
  list_text out;
  for (const auto& entry : entries) out.add(entry);
  return out.text();
}

/// The fields in no order; empty: it is no form.
std::optional<std::string> form_text(std::string_view text) {
  const auto fields = base::parse_form(text);
  if (!fields) return std::nullopt;
  std::vector<std::string> entries;
  for (const auto& [name, value] : *fields) {
    if (!marks_a_try(name)) entries.push_back(list_text().add(name).add(value).text());
  }
  return sorted_text(std::move(entries));
}

std::string unescaped_path(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::array<unsigned char, 1> byte{};
    if (text[i] == '%' && base::from_hex(text.substr(i + 1, 2), byte)) {
      out += static_cast<char>(byte[0]);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// The names between the slashes of the decoded path, without parameters and dot segments. Services
/// differ in whether these lead elsewhere.
std::string path_text(std::string_view path) {
  const auto decoded = unescaped_path(path);
  std::vector<std::string_view> names;
  for (std::string_view rest = decoded; !rest.empty();) {
    const auto end = std::min(rest.find('/'), rest.size());
    const auto segment = rest.substr(0, end);
    const auto name = segment.substr(0, segment.find(';'));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name == "..") {
      if (!names.empty()) names.pop_back();
    } else if (!name.empty() && name != ".") {
      names.push_back(name);
    }
  }
  list_text out;
  for (const auto name : names) out.add(name);
  return out.text();
}

std::string operation_text(const fingerprint_rule& rule, std::span<const field> fields) {
  std::vector<std::string> entries;
  for (const auto& f : fields) {
    if (!names_operation(f.name) || lists_header(rule, '-', f.name)) continue;
    std::string name;
    for (const char c : f.name) name += c == '_' ? '-' : base::ascii_lower(c);
    entries.push_back(list_text().add(name).add(f.value).text());
  }
  return sorted_text(std::move(entries));
}

/// The name of a part of a form; empty: it has none.
std::string_view name_of_part(std::string_view part) noexcept {
  constexpr std::string_view before = " name=\"";
  const auto head = part.substr(0, part.find("\r\n\r\n"));
  const auto begin = head.find(before);
  if (begin == head.npos) return {};
  const auto rest = head.substr(begin + before.size());
  return rest.substr(0, rest.find('"'));
}

bool claims_multipart(std::string_view type) noexcept {
  constexpr std::string_view begin = "multipart/";
  return base::iequals(type.substr(0, begin.size()), begin);
}

/// Whether a part has parts of its own, whose boundary may be another one at each try. Where its
/// head says so in another field, nobody can tell either.
bool has_parts_within(const multipart& parts) noexcept {
  return std::any_of(parts.pieces.begin(), parts.pieces.end(), [](std::string_view part) {
    const auto head = part.substr(0, part.find("\r\n\r\n"));
    for (auto slash = head.find('/'); slash != head.npos; slash = head.find('/', slash + 1)) {
      const auto begin = slash - std::min(slash, std::string_view("multipart").size());
      if (claims_multipart(head.substr(begin))) return true;
    }
    return false;
  });
}

std::string parts_text(const multipart& parts) {
  std::vector<std::string> entries;
  for (const auto part : parts.pieces) {
    if (!marks_a_try(name_of_part(part))) entries.emplace_back(part);
  }
  return sorted_text(std::move(entries));
}

bool is_json_text(std::string_view type, std::string_view content) noexcept {
  const auto begin = content.find_first_not_of(" \t\r\n");
  const bool bracket = begin != content.npos && (content[begin] == '{' || content[begin] == '[');
  return bracket || type.substr(0, type.find(';')).find("json") != type.npos;
}

/// Without the members that mark a try. Empty: too long, or no I-JSON.
std::optional<std::string> json_text(const fingerprint_rule& rule, const body_view& body) {
  if (rule.kind == fingerprint_kind::json && rule.selection == json_selection::pick) {
    return body.canonical;
  }
  // Requests that have the same canonical form must come to the same here.
  const std::string_view text = body.canonical ? std::string_view(*body.canonical) : body.content;
  if (text.size() > longest_json) return std::nullopt;
  fingerprint_rule without;
  without.kind = fingerprint_kind::json;
  without.selection = json_selection::omit;
  for (auto left = marks_in(text); left != 0; left &= left - 1) {
    const auto name = marks_of_a_try[static_cast<std::size_t>(std::countr_zero(left))];
    without.pointers.push_back('/' + std::string(name));
  }
  if (body.canonical && without.pointers.empty()) return body.canonical;
  auto made = canonical_json(text, without);
  if (!made) return std::nullopt;
  return std::move(*made);
}

std::string body_digest(const fingerprint_rule& rule, const fingerprint_input& input,
                        const body_view& body) {
  list_text out;
  if (rule.kind == fingerprint_kind::none || !body.encoding.empty()) return "-";
  if (body.parts) {
    return has_parts_within(*body.parts) ? "-" : out.add(parts_text(*body.parts)).digest();
  }
  const auto type = base::trim(input.content_type.substr(0, input.content_type.find(';')));
  const bool form = base::iequals(type, "application/x-www-form-urlencoded");
  const bool json_in_form = rule.kind != fingerprint_kind::form || !form;
  // A canonical form is the same under any content type.
  if (!body.canonical && claims_multipart(type)) return "-";
  if (body.canonical || (json_in_form && is_json_text(input.content_type, body.content))) {
    const auto text = json_text(rule, body);
    return text ? out.add(*text).digest() : "-";
  }
  if (form) {
    const auto text = form_text(body.content);
    return text ? out.add(*text).digest() : "-";
  }
  return out.add("").add(body.content).digest();
}

/// The digests that a method tells; empty: none.
std::string_view work_of(std::string_view method) noexcept {
  if (!method.starts_with(work_mark)) return {};
  method.remove_prefix(work_mark.size());
  return method.substr(0, method.find(' '));
}

}  // namespace

bool lists_header(const fingerprint_rule& rule, char sign, std::string_view name) noexcept {
  return std::any_of(rule.headers.begin(), rule.headers.end(), [&](std::string_view listed) {
    return listed.starts_with(sign) && base::same_name(listed.substr(1), name);
  });
}

std::string work_digests(const fingerprint_rule& rule, const fingerprint_input& input,
                         const body_view& body) {
  list_text position;
  position.add(input.method).add(path_text(input.path));
  position.add(operation_text(rule, input.fields));
  return position.digest() + ':' + body_digest(rule, input, body);
}

bool other_work(std::string_view method, std::string_view other_method) noexcept {
  const auto one = work_of(method);
  const auto other = work_of(other_method);
  if (one.size() <= digits || other.size() <= digits) return false;
  if (one.substr(0, digits) != other.substr(0, digits)) return true;
  const auto body = one.substr(digits + 1);
  const auto other_body = other.substr(digits + 1);
  return body != "-" && other_body != "-" && body != other_body;
}

}  // namespace onceguard::core
