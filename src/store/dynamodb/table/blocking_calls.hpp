// Requests before a store is open, and of commands: one after the other, and blocking.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "aws/credential_source.hpp"
#include "store/dynamodb/client/failure.hpp"

namespace onceguard::dynamodb {

/// What became of one.
struct blocking_answer {
  std::string body;
  outcome seen;                      ///< condition_failed, no_table, and the error's name
  std::optional<std::int64_t> date;  ///< of the service's clock
};

class blocking_calls {
 public:
  /// Both must outlive it.
  blocking_calls(const address& target, aws::credential_source& credentials, milliseconds timeout)
      : target_(target), credentials_(credentials), until_(base::boot_now() + timeout) {}

  /// Makes the request again where the service could not serve it, until the time of all of them is
  /// over. A table that is not there, and the error named `expected`, are no error here.
  [[nodiscard]] result<blocking_answer> ask(std::string_view action, const std::string& body,
                                            std::string_view expected = {});
  [[nodiscard]] bool over() const { return base::boot_now() >= until_; }
  [[nodiscard]] const address& target() const noexcept { return target_; }

 private:
  const address& target_;
  aws::credential_source& credentials_;
  const base::boot_clock::time_point until_;
  aws::signed_request exchange_;
};

/// Blocks.
void pause_for(milliseconds length);

}  // namespace onceguard::dynamodb
