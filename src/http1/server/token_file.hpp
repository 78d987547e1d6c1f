// A file of bearer tokens: who may use a listener.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard::http1 {

/// Where the file is named, and what its holders may be.
struct token_rules {
  std::string_view option;                  ///< of the configuration: for errors
  std::span<const std::string_view> roles;  ///< the first word of a line
};

/// Who shows a token.
struct token_holder {
  std::string role;
  std::string name;  ///< behind the token, or the role
};

/// The tokens of a file, kept as digests. Immutable.
class token_file {
 public:
  /// Reads the file: a line each, "ROLE TOKEN [NAME]"; empty lines and lines that begin with "#"
  /// are skipped. errc::invalid_argument names what is wrong and where: a file that others may
  /// read, an unknown role, a token that is short, no token at all.
  [[nodiscard]] static result<token_file> read(const std::string& path, const token_rules& rules);

  /// Whom an Authorization field shows; null for none and for a wrong one. The time does not depend
  /// on how much of a token is right.
  [[nodiscard]] const token_holder* find(std::string_view authorization) const;

 private:
  struct entry {
    digest token{};
    token_holder holder;
  };
  std::vector<entry> entries_;
};

/// The first token of such a file that has the role, or of all. Errors as above.
[[nodiscard]] result<std::string> find_token(const std::string& path, const token_rules& rules,
                                             std::string_view role);

}  // namespace onceguard::http1
