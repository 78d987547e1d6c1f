// The id of an operation that runs: whoever has it can settle the operation, at every process of
// the service and after a restart.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/record.hpp>

namespace onceguard::serve {

/// By which rules it is settled.
enum class rules_kind : char {
  route = 'r',     ///< of the route with this host and path
  policy = 'p',    ///< of the policy with this name
  object = 'o',    ///< of this object of options
  defaults = 'd',  ///< of [defaults]
};

struct operation_id {
  record_id record{};
  lease held;        ///< its token and claim id
  std::string mark;  ///< print_mark of its subject
  rules_kind kind = rules_kind::defaults;
  std::string rules;  ///< as `kind` says

  /// Letters, digits, "-" and "_".
  [[nodiscard]] std::string text() const;
  /// Empty: it is none.
  [[nodiscard]] static std::optional<operation_id> parse(std::string_view text);
};

/// Of an operation that is only observed; it means nothing elsewhere.
[[nodiscard]] std::string make_observed_id();
[[nodiscard]] bool is_observed_id(std::string_view text);

}  // namespace onceguard::serve
