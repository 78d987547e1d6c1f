// Any bytes as a form: nothing but its delimiters is left out of its pieces.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <onceguard/fingerprint.hpp>

#include "core/multipart.hpp"

namespace {

using namespace onceguard;

void require(bool holds) {
  if (!holds) std::abort();
}

/// The form that the pieces are of, with another boundary.
std::string form_of(const core::multipart& parts, const std::string& boundary) {
  const auto dashes = "--" + boundary;
  std::string out(parts.pieces.front());
  if (!parts.pieces.front().empty()) out += "\r\n";
  for (std::size_t i = 1; i + 1 < parts.pieces.size(); ++i) {
    out += dashes + "\r\n" + std::string(parts.pieces[i]) + "\r\n";
  }
  return out + dashes + "--\r\n" + std::string(parts.pieces.back());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const auto line = text.find('\n');
  const auto type = text.substr(0, line);
  const auto body = line == text.npos ? std::string() : text.substr(line + 1);
  fingerprint_rule rule;
  rule.kind = fingerprint_kind::form;
  fingerprint_input input;
  input.content_type = type;
  input.body = body;
  static_cast<void>(make_fingerprint(rule, input));
  const auto parts = core::cut_multipart(type, body);
  if (!parts) return 0;
  require(parts->pieces.size() >= 2);
  const std::string boundary = "another-boundary";
  for (const auto piece : parts->pieces) {
    if (piece.find(boundary) != piece.npos) return 0;
  }
  const auto form = form_of(*parts, boundary);
  const auto again = core::cut_multipart("multipart/form-data; boundary=" + boundary, form);
  require(again && again->pieces == parts->pieces);
  return 0;
}
