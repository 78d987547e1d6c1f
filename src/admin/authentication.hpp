// Who a caller of the admin listener is: by a bearer token, by the cookie of the page, or by the
// address alone where there are no tokens.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <onceguard/error.hpp>

#include "admin/resource.hpp"
#include "admin/sign_ins.hpp"
#include "gateway/params/admin_params.hpp"
#include "http1/message.hpp"

namespace onceguard::admin {

class token_list;

/// Thread-safety: tokens from any thread, the rest from the listener's.
class authentication {
 public:
  using tokens = std::shared_ptr<const token_list>;

  /// `kept`: sign-ins that outlive it; null: none do.
  authentication(const admin_params& params, std::shared_ptr<sign_ins> kept)
      : params_(params), sign_ins_(kept ? std::move(kept) : std::make_shared<sign_ins>()) {}

  /// Reads the tokens again, for set_tokens(); null: none are needed.
  [[nodiscard]] result<tokens> read_tokens() const;
  void set_tokens(tokens read);
  [[nodiscard]] bool needs_token() const { return tokens_in_force() != nullptr; }

  /// Fills in the sender. Why the request is refused whatever it asks for; none: it is not.
  [[nodiscard]] std::optional<response> check(const http1::head& head, request& request);

  /// GET, POST and DELETE /api/sign-in: who somebody is, and a cookie in place of the token.
  /// `port`: of the listener, known once it listens; cookies do not tell ports apart (RFC
  /// 6265, 8.5). `serves`: which of the page's views there are, a constant text.
  [[nodiscard]] resources sign_in_resources(std::function<std::uint16_t()> port,
                                            std::string_view serves);

 private:
  [[nodiscard]] tokens tokens_in_force() const {
    const std::lock_guard lock(mutex_);
    return tokens_;
  }
  [[nodiscard]] std::optional<response> check_token(const token_list& known,
                                                    const http1::head& head, request& request);
  [[nodiscard]] response sign_in(const request& wanted);
  [[nodiscard]] response sign_out(const request& wanted);
  [[nodiscard]] std::string cookie_name() const;

  const admin_params& params_;
  mutable std::mutex mutex_;
  tokens tokens_;                             // under the mutex
  const std::shared_ptr<sign_ins> sign_ins_;  // never null
  std::function<std::uint16_t()> port_;       // empty: there is no page
};

}  // namespace onceguard::admin
