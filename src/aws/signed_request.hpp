// One request to a service of Amazon in its JSON protocol, by libcurl, which signs it (SigV4).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/record.hpp>

#include "aws/credentials.hpp"

namespace onceguard::aws {

struct service {
  std::string endpoint;  ///< "https://HOST": without a path, as libcurl signs no other reliably
  std::string region;
  std::string name;    ///< as requests are signed for: "sqs"
  std::string target;  ///< what stands before the action in X-Amz-Target: "AmazonSQS."
};

/// What the server sent.
struct answer {
  long status = 0;
  std::string body;
  std::optional<std::int64_t> date;  ///< of the server's clock, in milliseconds since 1970
};

/// Why there is no answer.
struct broken_exchange {
  std::string why;
  bool sent = false;     ///< the server may have got the request
  bool lasting = false;  ///< a person must mend it: certificates
};

/// How long a request may take.
struct patience {
  milliseconds whole{0};
  milliseconds connecting{0};
};

/// Is used again and again, and keeps its connections. Not thread-safe.
class signed_request {
 public:
  signed_request();
  signed_request(const signed_request&) = delete;
  signed_request& operator=(const signed_request&) = delete;
  ~signed_request();

  /// `body` must stay until the end of the exchange.
  void prepare(const service& target, const credentials& signer, std::string_view action,
               const std::string& body, const patience& limits);
  /// Sends it and waits for its end. Returns libcurl's code.
  [[nodiscard]] int perform();
  /// The easy handle, for those who let libcurl do several at once.
  [[nodiscard]] void* handle() const noexcept;

  /// After an end with libcurl's code 0.
  [[nodiscard]] answer take_answer();
  /// After any other.
  [[nodiscard]] broken_exchange failure_of(int code) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace onceguard::aws
