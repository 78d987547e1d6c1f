#include "webhook/verifier.hpp"

#include <charconv>
#include <cstdlib>
#include <optional>

#include <nlohmann/json.hpp>
#include <openssl/crypto.h>

#include "base/hash.hpp"
#include "text/json_text.hpp"
#include "webhook/hmac.hpp"

namespace onceguard::webhook {

namespace {

using text_view = std::optional<std::string_view>;

/// The value of a field that is sent exactly once: the service may read another one of several.
text_view only_field(std::span<const base::field> fields, std::string_view name) {
  text_view out;
  for (const auto& f : fields) {
    if (!base::same_name(f.name, name)) continue;
    if (out || !base::iequals(f.name, name)) return std::nullopt;
    out = base::trim(f.value);
  }
  return out;
}

/// Calls `visit` for each part of the text; without a separator, the whole text is one.
template <class Visit>
void each_part(std::string_view text, char separator, const Visit& visit) {
  while (!text.empty()) {
    const auto end = separator == 0 ? std::string_view::npos : text.find(separator);
    visit(base::trim(text.substr(0, end)));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

/// The value of NAME=VALUE; none: it is absent or repeated.
text_view only_part(std::string_view text, char separator, std::string_view name) {
  text_view out;
  std::size_t times = 0;
  each_part(text, separator, [&](std::string_view part) {
    if (!part.starts_with(name) || part.substr(name.size(), 1) != "=") return;
    out = part.substr(name.size() + 1);
    ++times;
  });
  return times == 1 ? out : std::nullopt;
}

char character_of(signature_separator separator) {
  switch (separator) {
    case signature_separator::comma:
      return ',';
    case signature_separator::space:
      return ' ';
    case signature_separator::none:
      break;
  }
  return 0;
}

std::optional<std::string> decoded(std::string_view text, signature_encoding encoding) {
  if (encoding == signature_encoding::base64) return from_base64(text);
  std::string out(text.size() / 2, 0);
  const std::span<unsigned char> bytes(reinterpret_cast<unsigned char*>(out.data()), out.size());
  if (text.size() % 2 != 0 || !base::from_hex(text, bytes)) return std::nullopt;
  return out;
}

/// The body is parsed once, and only for a source that needs it.
class id_finder {
 public:
  explicit id_finder(const delivery& arrived) : arrived_(arrived) {}

  std::optional<std::string> find(const std::vector<source>& sources) {
    for (const auto& one : sources) {
      auto found = find_in(one);
      if (found && !found->empty()) return found;
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string> find_in(const source& one) {
    text_view found;
    switch (one.where) {
      case source::location::json:
        return find_in_json(one.name);
      case source::location::header:
        found = only_field(arrived_.fields, one.name);
        break;
      case source::location::form:
        found = only_part(arrived_.body, '&', one.name);
        break;
      case source::location::signature:
        break;
    }
    if (!found) return std::nullopt;
    return std::string(*found);
  }

  std::optional<std::string> find_in_json(const std::string& name) {
    if (!json_) json_ = nlohmann::json::parse(arrived_.body, nullptr, false);
    const nlohmann::json::json_pointer pointer(name);
    if (json_->is_discarded() || !json_->contains(pointer)) return std::nullopt;
    const auto& value = json_->at(pointer);
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_integer()) return value.dump();
    return std::nullopt;
  }

  const delivery& arrived_;
  std::optional<nlohmann::json> json_;
};

std::string content_of(const sender& about, std::string_view id, std::string_view timestamp,
                       std::string_view body) {
  struct part {
    std::string_view name;
    std::string_view value;
  };
  const part parts[]{{"{id}", id}, {"{timestamp}", timestamp}, {"{body}", body}};
  std::string out;
  std::string_view rest = about.content;
  while (!rest.empty()) {
    bool replaced = false;
    for (const auto& one : parts) {
      if (replaced || !rest.starts_with(one.name)) continue;
      out += one.value;
      rest.remove_prefix(one.name.size());
      replaced = true;
    }
    if (replaced) continue;
    out += rest.front();
    rest.remove_prefix(1);
  }
  return out;
}

std::optional<std::int64_t> seconds_of(std::string_view text) {
  std::int64_t out = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, out);
  if (failed != std::errc{} || stop != end || out < 0) return std::nullopt;
  return out;
}

}  // namespace

bool verifier::signed_with_a_secret(std::string_view signatures, std::string_view content) const {
  bool out = false;
  for (const auto& secret : secrets_) {
    const auto made = hmac_of(about_.hash, secret, content);
    each_part(signatures, character_of(about_.separator), [&](std::string_view part) {
      if (!part.starts_with(about_.prefix)) return;
      const auto given = decoded(part.substr(about_.prefix.size()), about_.encoding);
      if (!given || given->size() != made.size()) return;
      // All are compared, so that the time does not say which one fits.
      if (CRYPTO_memcmp(given->data(), made.data(), made.size()) == 0) out = true;
    });
  }
  return out;
}

finding verifier::check(const delivery& arrived) const {
  const auto signatures = only_field(arrived.fields, about_.signature_header);
  if (!signatures) return {verdict::forged};
  text_view timestamp;
  if (!about_.timestamp.empty()) {
    const auto& one = about_.timestamp.front();
    timestamp = one.where == source::location::header
                    ? only_field(arrived.fields, one.name)
                    : only_part(*signatures, character_of(about_.separator), one.name);
    if (!timestamp) return {verdict::forged};
  }
  id_finder finder(arrived);
  std::optional<std::string> id;
  // Other bodies are parsed only once the signature is known to be good.
  const bool id_is_signed_apart = about_.content.find("{id}") != std::string::npos;
  if (id_is_signed_apart) {
    id = finder.find(about_.id);
    if (!id) return {verdict::no_id};
  }
  const auto content = content_of(about_, id.value_or(""), timestamp.value_or(""), arrived.body);
  if (!signed_with_a_secret(*signatures, content)) return {verdict::forged};
  if (timestamp && about_.tolerance_seconds > 0) {
    const auto when = seconds_of(*timestamp);
    if (!when || std::abs(arrived.now - *when) > about_.tolerance_seconds) {
      return {verdict::expired};
    }
  }
  if (!id) id = finder.find(about_.id);
  if (!id) return {verdict::no_id};
  return {verdict::genuine, *std::move(id), finder.find(about_.challenge).value_or("")};
}

}  // namespace onceguard::webhook
