// How an operation ends, by its own process or by another one.
#pragma once
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "serve/decisions.hpp"

namespace onceguard::serve {

class settle_attempt {
 public:
  settle_attempt(decisions& owner, std::string id, settle_call call, connection_number asker)
      : owner_(owner), id_(std::move(id)), call_(std::move(call)), asker_(asker) {}
  [[nodiscard]] boost::asio::awaitable<reply_message> run();

 private:
  boost::asio::awaitable<reply_message> extend();
  boost::asio::awaitable<reply_message> end();
  [[nodiscard]] reply_message end_observed() const;
  [[nodiscard]] settle_terms terms() const;
  [[nodiscard]] settle_terms terms_of_answer() const;
  [[nodiscard]] reply_message answered(const settle_terms& terms, const outcome& ended) const;
  /// What a client gets whose handler gave no answer.
  [[nodiscard]] std::optional<http::response> reply_to_failure(const settle_terms& terms) const;
  [[nodiscard]] const route_policy& policy() const;
  [[nodiscard]] reply_message store_failed(const error& why) const;
  [[nodiscard]] reply_message no_such_operation() const;
  [[nodiscard]] reply_message gone() const;

  decisions& owner_;
  const std::string id_;
  settle_call call_;
  const connection_number asker_;
  operation_ptr held_;
  bool resumed_ = false;  ///< its lease lives with no connection
};

}  // namespace onceguard::serve
