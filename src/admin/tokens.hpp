// Who may use the admin listener: the file of bearer tokens.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "admin/resource.hpp"

namespace onceguard::admin {

/// The tokens of a file, kept as digests. Immutable.
class token_list {
 public:
  /// Reads the file: a line each, "operator TOKEN [NAME]" or "viewer TOKEN [NAME]"; empty lines and
  /// lines that begin with "#" are skipped. errc::invalid_argument names what is wrong and where:
  /// a file that others may read, an unknown role, a token that is short, no token at all.
  [[nodiscard]] static result<token_list> read(const std::string& path);

  /// What an Authorization field grants; access::open for none and for a wrong one. The time does
  /// not depend on how much of a token is right.
  [[nodiscard]] caller find(std::string_view authorization) const;

 private:
  struct entry {
    digest token{};
    caller holder;
  };
  std::vector<entry> entries_;
};

/// The first token of such a file, of a viewer if it has one. Errors as above.
[[nodiscard]] result<std::string> find_viewing_token(const std::string& path);

}  // namespace onceguard::admin
