// Stored records made by hand: of any format, with a checksum that fits.
#pragma once
#include <string>
#include <string_view>

#include "base/hash.hpp"

namespace onceguard::testing {

inline constexpr std::size_t record_sum_size = 8;

inline std::string with_xxh3(std::string content) {
  const auto sum = base::checksum_of(content);
  for (int shift = 0; shift < 64; shift += 8) {
    content.push_back(static_cast<char>(sum >> shift & 0xff));
  }
  return content;
}

inline std::string with_sha256(std::string content) {
  const auto sum = base::sha256_of(content);
  return content.append(base::as_chars(sum).substr(0, record_sum_size));
}

/// What the first version would have written for this record of the newest format.
inline std::string as_format_1(std::string_view newest) {
  std::string content(newest.substr(0, newest.size() - record_sum_size));
  content[0] = 1;
  return with_sha256(std::move(content));
}

}  // namespace onceguard::testing
