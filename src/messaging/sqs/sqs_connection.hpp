// Requests to Amazon SQS in its JSON protocol. Blocks.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/record.hpp>

#include "aws/credential_source.hpp"
#include "aws/signed_request.hpp"
#include "base/clock.hpp"
#include "messaging/sqs/sqs_url.hpp"

namespace onceguard::messaging::sqs {

/// All calls throw `failed`. HTTP has no state that a failure could spoil: each call tries anew.
class connection {
 public:
  using time_point = base::boot_clock::time_point;

  /// Finds the credentials; sends nothing to Amazon SQS.
  connection(const sqs_url& url, milliseconds timeout);
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection();

  /// The answer's body, which is a JSON text. Makes the request again where the server is throttled
  /// or fails, until the time is over.
  [[nodiscard]] std::string ask(std::string_view action, const std::string& request,
                                time_point until);
  /// The same, with the connection's timeout.
  [[nodiscard]] std::string ask(std::string_view action, const std::string& request) {
    return ask(action, request, base::boot_now() + timeout_);
  }

  /// Was the last request answered?
  [[nodiscard]] bool usable() const noexcept { return usable_; }
  [[nodiscard]] milliseconds timeout() const noexcept { return timeout_; }
  /// How long the quickest answer took: how old an answer may be when it arrives.
  [[nodiscard]] base::boot_clock::duration quickest() const noexcept { return quickest_; }
  /// For people.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  [[nodiscard]] aws::answer exchange_once(std::string_view action, const std::string& request,
                                          time_point until);

  std::string name_;
  aws::service service_;
  aws::credential_source credentials_;
  milliseconds timeout_;
  bool usable_ = false;
  base::boot_clock::duration quickest_ = base::boot_clock::duration::max();
  aws::signed_request exchange_;
};

}  // namespace onceguard::messaging::sqs
