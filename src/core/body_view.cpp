#include "core/body_view.hpp"

#include "base/ascii.hpp"
#include "core/gzip.hpp"

namespace onceguard::core {

body_view::body_view(const fingerprint_rule& rule, const fingerprint_input& input)
    : encoding(base::trim(input.content_encoding)), content(input.body) {
  if (rule.kind == fingerprint_kind::none) return;
  if (base::iequals(encoding, "identity")) encoding = {};
  if (base::iequals(encoding, "gzip") || base::iequals(encoding, "x-gzip")) {
    // What can't be unpacked, or would be too long, counts as it is.
    if (auto contents = gunzip(input.body, input.longest_body)) {
      unpacked = std::move(*contents);
      content = unpacked;
      encoding = {};
    }
  }
  if (rule.kind == fingerprint_kind::json) {
    if (auto made = canonical_json(content, rule)) canonical = std::move(*made);
  }
  if (!canonical) parts = cut_multipart(input.content_type, content);
}

}  // namespace onceguard::core
