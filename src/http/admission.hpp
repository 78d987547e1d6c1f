// What the HTTP contract says of a request's head: is it guarded, and by which key and scope?
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/policy.hpp>
#include <onceguard/record.hpp>

#include "base/field.hpp"
#include "http/problem.hpp"

namespace onceguard::http {

/// The head of a request. Views.
struct request_view {
  std::string_view method;
  std::string_view target;
  std::span<const base::field> fields;
  std::string_view client_address;  ///< without the port, seen through listed proxies
};

enum class admission_kind : std::uint8_t { pass, guard, refuse };

/// What a scope rule makes of a request.
struct scope_match {
  digest scope{};
  std::string scope_kind;         ///< "credential", "anonymous", "header:x-tenant" …
  std::vector<std::string> more;  ///< anonymous: what else goes into the fingerprint
};

struct admission : scope_match {  // guard: whose key it is
  admission_kind kind = admission_kind::pass;
  std::string_view reason;  ///< pass: why it is not guarded, a constant text
  // guard
  std::string key;
  std::vector<scope_match> former;  ///< where a record of it may stand from before
  // refuse
  problem refusal = problem::bad_request;
  std::string detail;
};

/// The scope that was made last. The requests of one connection mostly come with one credential,
/// whose digest need not be made again for each. Of a long one nothing is kept.
class scope_memo {
 public:
  [[nodiscard]] digest scope_of(std::string_view kind, std::string_view value);

 private:
  static constexpr std::size_t value_max = 512;  // a connection must not hold much while it is idle

  std::string kind_;
  std::string value_;
  digest made_{};
};

[[nodiscard]] admission admit(const route_policy& policy, const request_view& request,
                              scope_memo& last);
[[nodiscard]] admission admit(const route_policy& policy, const request_view& request);

/// The value of a cookie that is sent exactly once; none where it is missing or there twice.
[[nodiscard]] std::optional<std::string_view> find_cookie(std::span<const base::field> fields,
                                                          std::string_view name);

}  // namespace onceguard::http
