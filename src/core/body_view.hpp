// A request's body as a fingerprint sees it: unpacked, cut into parts, in its canonical form.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/fingerprint.hpp>

#include "core/multipart.hpp"

namespace onceguard::core {

/// Made once for a request. The views are those of the input and of `unpacked`: it does not move.
struct body_view {
  body_view(const fingerprint_rule& rule, const fingerprint_input& input);
  body_view(const body_view&) = delete;
  body_view& operator=(const body_view&) = delete;

  std::string unpacked;       ///< the contents of a gzip body
  std::string_view encoding;  ///< the Content-Encoding that is left; empty: none
  std::string_view content;
  std::optional<multipart> parts;        ///< unless the body does not count
  std::optional<std::string> canonical;  ///< of JSON, where the rule wants it
};

}  // namespace onceguard::core
