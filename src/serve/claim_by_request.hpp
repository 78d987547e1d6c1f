// A claim of an operation that is a request: by its route, as the gateway and the middleware do it.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "middleware/arriving_request.hpp"
#include "serve/decisions.hpp"

namespace onceguard::serve {

/// The call must outlive it.
class claim_by_request {
 public:
  claim_by_request(decisions& owner, const claim_call& call, const caller& asker)
      : owner_(owner), call_(call), asker_(asker) {}
  [[nodiscard]] boost::asio::awaitable<claim_reply> run();

 private:
  [[nodiscard]] claim_reply answered(const http::arriving_request& arrived,
                                     http::response made) const;
  [[nodiscard]] boost::asio::awaitable<claim_reply> begun(http::exchange exchange);
  /// Takes the operation in, and says what its handler gets.
  [[nodiscard]] boost::asio::awaitable<claim_reply> grant();

  decisions& owner_;
  const claim_call& call_;
  const caller& asker_;
  operation_ptr held_;
};

/// Puts a granted operation into the table; one whose connection has ended is given back.
[[nodiscard]] boost::asio::awaitable<claim_reply> take_in(decisions& owner, operation_ptr held,
                                                          const claim_call& call,
                                                          const caller& asker);

}  // namespace onceguard::serve
