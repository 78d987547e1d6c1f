// The policies of operations that are claimed by their parts: those of the tables [[policy]], and
// those that a claim brings along.
#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/policy.hpp>

#include "config/policy/policy_options.hpp"
#include "config/table/document.hpp"
#include "config/table/table_reader.hpp"

namespace onceguard::config {

struct policy_table_draft {
  std::string name;
};

/// Of a [[policy]], besides those of its policy.
[[nodiscard]] std::span<const row<policy_table_draft>> policy_table_rows();
/// The options of [defaults] that an operation without a request has.
[[nodiscard]] const std::vector<const option*>& operation_options();
/// Why it is none of these; empty: it is one.
[[nodiscard]] std::string operation_option_complaint(std::string_view name);

/// What a claim may say itself.
struct inline_rules {
  std::vector<std::string> options;  ///< names of operation_options()
  milliseconds max_lease{};
  milliseconds max_retention{};
};

/// The policy of one [[policy]], under construction.
struct named_policy {
  std::string name;
  policy_draft draft;
};

/// Thread-safe.
class operation_policies {
 public:
  /// `defaults` says what neither a [[policy]] nor a claim does.
  operation_policies(policy_draft defaults, const std::vector<named_policy>& named,
                     inline_rules inlined);
  operation_policies(const operation_policies&) = delete;
  operation_policies& operator=(const operation_policies&) = delete;

  using policy = std::shared_ptr<const route_policy>;
  /// Of a claim that says nothing.
  [[nodiscard]] const policy& usual() const noexcept { return usual_; }
  /// Those of the tables [[policy]], by name.
  [[nodiscard]] const std::map<std::string, policy, std::less<>>& named() const noexcept {
    return named_;
  }
  /// errc::invalid_argument: there is no [[policy]] of that name.
  [[nodiscard]] result<policy> find(std::string_view name) const;
  /// Of the options in the text of a JSON object. errc::invalid_argument names the member that is
  /// wrong, or not for a claim to say.
  [[nodiscard]] result<policy> read(std::string_view json) const;

 private:
  struct remembered {
    std::string json;
    policy made;
  };

  [[nodiscard]] result<policy> make(std::string_view json) const;
  [[nodiscard]] result<route_policy> merge(const node& options) const;
  [[nodiscard]] std::string limits_fault(const route_policy& made) const;

  const policy_draft defaults_;
  const inline_rules inlined_;
  policy usual_;
  std::map<std::string, policy, std::less<>> named_;
  mutable std::mutex mutex_;
  mutable std::list<remembered> recent_;  // the last used is first
};

/// Reads the tables [[policy]]; null: there are none.
[[nodiscard]] std::vector<named_policy> read_named_policies(const reading& source,
                                                            const node* tables,
                                                            const policy_draft& defaults,
                                                            remarks& out);

}  // namespace onceguard::config
