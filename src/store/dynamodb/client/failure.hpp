// What it means that DynamoDB refuses, or does not answer.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

#include "aws/refusal.hpp"
#include "store/dynamodb/dynamodb_params.hpp"

namespace onceguard::dynamodb {

/// What is to be done about an answer.
enum class remedy : std::uint8_t {
  take,   ///< it is a success, or says that a condition did not hold
  retry,  ///< the same request may succeed a moment later
  fail,
};

/// An answer, as far as it decides what is done about it.
struct outcome {
  dynamodb::remedy remedy = remedy::take;
  bool condition_failed = false;
  bool doubtful = false;  ///< the request may have been carried out all the same
  bool no_table = false;
  bool expired = false;  ///< the credentials
  aws::refusal why;
};

[[nodiscard]] outcome read_outcome(const aws::answer& got);

/// The error for what was not taken.
[[nodiscard]] error to_error(const address& target, long status, const outcome& seen);
/// The error for a table that is not there.
[[nodiscard]] error no_table(const address& target);

}  // namespace onceguard::dynamodb
