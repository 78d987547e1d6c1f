// Who may use the admin listener: the file of bearer tokens.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "admin/resource.hpp"
#include "http1/server/token_file.hpp"

namespace onceguard::admin {

/// The tokens of a file: a line each, "operator TOKEN [NAME]" or "viewer TOKEN [NAME]". Immutable.
class token_list {
 public:
  /// errc::invalid_argument names what is wrong with the file, and where.
  [[nodiscard]] static result<token_list> read(const std::string& path);

  /// What an Authorization field grants; access::open for none and for a wrong one.
  [[nodiscard]] caller find(std::string_view authorization) const;

 private:
  explicit token_list(http1::token_file held) : held_(std::move(held)) {}

  http1::token_file held_;
};

/// The first token of such a file, of a viewer if it has one. Errors as above.
[[nodiscard]] result<std::string> find_viewing_token(const std::string& path);

}  // namespace onceguard::admin
