// A claim of an operation that is named by scope, key and fingerprint.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "core/request.hpp"
#include "serve/decisions.hpp"

namespace onceguard::serve {

/// The call must outlive it.
class claim_by_parts {
 public:
  claim_by_parts(decisions& owner, const claim_call& call, const caller& asker)
      : owner_(owner), call_(call), asker_(asker) {}
  [[nodiscard]] boost::asio::awaitable<claim_reply> run();

 private:
  [[nodiscard]] rules_kind kind() const;
  [[nodiscard]] claim_reply refused(const error& why) const;
  [[nodiscard]] claim_reply answered(const outcome& outcome) const;
  [[nodiscard]] boost::asio::awaitable<claim_result> claim(const request_digests& digests);
  [[nodiscard]] boost::asio::awaitable<claim_reply> granted(lease_handle lease);

  decisions& owner_;
  const claim_call& call_;
  const caller& asker_;
  operation_ptr held_;
};

}  // namespace onceguard::serve
