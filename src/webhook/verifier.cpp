#include "webhook/verifier.hpp"

#include <cstdlib>
#include <optional>

#include <openssl/crypto.h>

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "text/json_text.hpp"
#include "webhook/encodings.hpp"
#include "webhook/hmac.hpp"

namespace onceguard::webhook {

namespace {

using kind = pattern_part::kind;
using location = source::location;
using text_view = std::optional<std::string_view>;

/// More signatures no sender sends, and each costs a check.
constexpr std::size_t signatures_max = 16;

/// Calls `visit` for each part of the text; without a separator, the whole text is one.
template <class Visit>
void each_part(std::string_view text, char separator, const Visit& visit) {
  for (std::size_t i = 0; i < signatures_max && !text.empty(); ++i) {
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

/// All bytes are compared, so that the time does not say how many are right.
bool is_same_signature(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

hmac_hash hash_of(signature_algorithm algorithm) {
  return algorithm == signature_algorithm::hmac_sha1 ? hmac_hash::sha1 : hmac_hash::sha256;
}

}  // namespace

/// The check of one delivery.
class verifier::webhook_examination {
 public:
  webhook_examination(const sender& about, const registration& agreed, const delivery& arrived)
      : about_(about), agreed_(agreed), arrived_(arrived), values_(arrived) {}

  finding run() {
    if (!read_signatures() || !read_timestamp()) return {verdict::forged};
    // A body is parsed only once the signature is known to be good, unless the signature or what
    // is signed stands in it.
    if (contains(about_.content, kind::id)) {
      id_ = find_id();
      if (id_.empty()) return {verdict::no_id};
    }
    if (!take_body_hash() || !is_signed()) return {verdict::forged};
    values_.trust();
    if (has_what_is_not_signed()) return {verdict::forged};
    if (is_late()) {
      // A text that is no time may hold a part of what was signed behind the time.
      if (parse_instant(timestamp_) && id_.empty()) id_ = find_id();
      return {verdict::expired, parse_instant(timestamp_) ? std::move(id_) : std::string()};
    }
    if (id_.empty()) id_ = find_id();
    if (id_.empty()) return {verdict::no_id};
    finding out{verdict::genuine, std::move(id_)};
    if (about_.challenge) out.challenge = values_.find(*about_.challenge).text.value_or("");
    return out;
  }

 private:
  bool read_signatures() {
    auto found = values_.find(*about_.signature);
    if (!found.text) return false;
    signatures_ = *std::move(found.text);
    return true;
  }

  bool read_timestamp() {
    if (!about_.timestamp) return true;
    if (about_.timestamp->where == location::signature) {
      const auto part =
          only_part(signatures_, character_of(about_.separator), about_.timestamp->name);
      if (part) timestamp_ = *part;
      return part.has_value();
    }
    auto found = values_.find(*about_.timestamp);
    if (!found.text) return false;
    timestamp_ = *std::move(found.text);
    return true;
  }

  bool has_what_is_not_signed() {
    for (const auto& pointer : about_.absent) {
      if (!values_.json().lacks(pointer)) return true;
    }
    return false;
  }

  /// False: the hash is not that of the body, or is missing where nothing else covers the body.
  bool take_body_hash() {
    if (!about_.body_hash) return true;
    const auto found = values_.find(*about_.body_hash);
    if (!found.is_clear) return false;
    if (!found.text) {
      const auto& content = about_.content;
      return contains(content, kind::body) || contains(content, kind::form) ||
             contains(content, kind::crc32);
    }
    hashes_body_ = true;
    const auto given = from_hex(*found.text);
    return given && is_same_signature(*given, base::as_chars(base::sha256_of(arrived_.body)));
  }

  bool is_signed() {
    const bool needs_url = contains(about_.content, kind::url);
    const std::size_t count = needs_url ? agreed_.urls.size() : 1;
    bool out = false;
    for (std::size_t i = 0; i < count; ++i) {
      auto content = text_of(about_.content, needs_url ? agreed_.urls[i] : std::string());
      if (!content) return false;
      if (is_signed_text(*content)) out = true;
      // A repeat may be signed with another of the URLs, and has the same hash.
      if (i == 0) content_ = *std::move(content);
    }
    return out;
  }

  bool is_signed_text(std::string_view content) const {
    if (about_.algorithm == signature_algorithm::rsa_sha256) return is_signed_by_key(content);
    bool out = false;
    for (const auto& secret : agreed_.secrets) {
      const auto made = hmac_of(hash_of(about_.algorithm), secret, content);
      each_signature([&](std::string_view given) {
        if (is_same_signature(given, made)) out = true;  // and the others are still compared
      });
    }
    return out;
  }

  /// Takes no secret, so its time tells nobody anything.
  bool is_signed_by_key(std::string_view content) const {
    bool out = false;
    const auto hash = base::sha256_of(content);
    for (const auto& key : agreed_.keys) {
      each_signature(
          [&](std::string_view given) { out = out || key.verifies(given, hash, arrived_.now); });
    }
    return out;
  }

  template <class Visit>
  void each_signature(const Visit& visit) const {
    each_part(signatures_, character_of(about_.separator), [&](std::string_view part) {
      if (!part.starts_with(about_.prefix)) return;
      part.remove_prefix(about_.prefix.size());
      const auto given =
          about_.encoding == signature_encoding::base64 ? base::from_base64(part) : from_hex(part);
      if (given) visit(std::string_view(*given));
    });
  }

  bool is_late() const {
    if (!about_.timestamp || about_.tolerance_seconds == 0) return false;
    const auto when = parse_instant(timestamp_);
    return !when || std::abs(arrived_.now - *when) > about_.tolerance_seconds;
  }

  std::string find_id() {
    for (const auto& one : about_.id) {
      auto found = filled_id(one);
      if (!found.empty()) return found;
    }
    return {};
  }

  /// Empty: not all of its values are there.
  std::string filled_id(const pattern& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto& part = text[i];
      if (part.type == kind::literal) {
        out += part.text;
      } else if (part.position.where == location::signed_hash) {
        out += base::to_hex(base::sha256_of(content_));
      } else {
        const auto found = values_.find(part.position);
        if (!found.text || found.text->empty() || !stands_apart(text, i, *found.text)) return {};
        out += *found.text;
      }
    }
    return out;
  }

  /// What is signed, if the sender knows the route by this URL; empty: nothing can be, as a value
  /// is there twice or is malformed.
  std::optional<std::string> text_of(const pattern& text, const std::string& url) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (!append_part(out, text, i, url)) return std::nullopt;
    }
    return out;
  }

  bool append_part(std::string& out, const pattern& text, std::size_t index,
                   const std::string& url) {
    const auto& part = text[index];
    switch (part.type) {
      case kind::literal:
        out += part.text;
        return true;
      case kind::id:
        out += id_;
        return stands_apart(text, index, id_);
      case kind::timestamp:
        out += timestamp_;
        // One that is within the tolerance has always the same length, and no other form fits it.
        return about_.tolerance_seconds != 0 || stands_apart(text, index, timestamp_);
      case kind::body:
        out += arrived_.body;
        return true;
      case kind::crc32:
        out += std::to_string(crc32_of(arrived_.body));
        return true;
      case kind::form:
        if (hashes_body_) return true;
        if (!values_.form()) return false;
        if (!form_text_) form_text_ = sorted_text(*values_.form());
        out += *form_text_;
        return true;
      case kind::url:
        return append_url(out, url) && ends_before_body(text, index, out);
      case kind::webhook_id:
        out += agreed_.webhook_id;
        return true;
      case kind::value:
        break;
    }
    const auto found = values_.find(part.position);
    const auto value = found.text.value_or("");
    if (!found.is_clear || (!part.takes_any && !stands_apart(text, index, value))) return false;
    out += value;
    return true;
  }

  /// Whether a URL with nothing behind it but the body shows where it ends: no URL has a brace.
  [[nodiscard]] bool ends_before_body(const pattern& text, std::size_t index,
                                      std::string_view so_far) const {
    if (index + 1 == text.size() || text[index + 1].type != kind::body) return true;
    return so_far.find('{') == so_far.npos && arrived_.body.starts_with('{');
  }

  /// The public URL of the route, and what the request has beyond the route's path. It is taken as
  /// it was sent, as the sender has signed it.
  bool append_url(std::string& out, const std::string& url) const {
    auto path = values_.path();
    const std::string_view prefix = agreed_.path == "/" ? std::string_view() : agreed_.path;
    if (!path.starts_with(prefix)) return false;
    path.remove_prefix(prefix.size());
    out.append(url).append(path).append(values_.query());
    return true;
  }

  const sender& about_;
  const registration& agreed_;
  const delivery& arrived_;
  delivery_values values_;
  std::string signatures_;
  std::string timestamp_;
  std::string id_;
  std::string content_;  // with the first URL
  std::optional<std::string> form_text_;
  bool hashes_body_ = false;  // so that the body is no form
};

finding verifier::check(const delivery& arrived) const {
  return webhook_examination(about_, agreed_, arrived).run();
}

}  // namespace onceguard::webhook
