// Who may call the decision service: by a token, or by being on this machine.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "http1/message.hpp"
#include "http1/server/token_file.hpp"
#include "serve/params/serve_params.hpp"
#include "serve/protocol_message.hpp"

namespace onceguard::serve {

/// Thread-safe.
class client_access {
 public:
  explicit client_access(const serve_params& params);

  /// Null: no token is needed.
  using tokens = std::shared_ptr<const http1::token_file>;
  /// What the token file says now. errc::invalid_argument: what is wrong with it.
  [[nodiscard]] result<tokens> read() const;
  /// From now on.
  void set(tokens read);

  /// Why a call is refused, by its head; empty: it is not.
  [[nodiscard]] std::optional<reply_message> refusal(const http1::head& head) const;

 private:
  const std::string token_file_;
  const bool local_socket_;
  const std::string problem_base_;
  mutable std::mutex mutex_;
  tokens tokens_;  // under the mutex
};

}  // namespace onceguard::serve
