#include "store/dynamodb/client/failure.hpp"

#include <nlohmann/json.hpp>

#include "base/json_reader.hpp"

namespace onceguard::dynamodb {
namespace {

/// Of a transaction that was cancelled: by a condition, or by what passes.
void read_reasons(const std::string& body, outcome& out) {
  const auto parsed = nlohmann::json::parse(body, nullptr, false);
  bool passing = false;
  for (const auto& each : base::list_in(parsed, "CancellationReasons")) {
    const auto code = base::text_in(each, "Code");
    out.condition_failed = out.condition_failed || code == "ConditionalCheckFailed";
    passing = passing || code == "TransactionConflict" || code == "ThrottlingError" ||
              code == "ProvisionedThroughputExceeded";
  }
  if (out.condition_failed) return;
  out.remedy = passing ? remedy::retry : remedy::fail;
}

}  // namespace

outcome read_outcome(const aws::answer& got) {
  outcome out;
  // Every answer has a body. libcurl takes headers that end with the connection for whole ones.
  if (got.body.empty()) {
    out.why.words = "the answer was cut short";
    out.doubtful = true;
    out.remedy = remedy::retry;
    return out;
  }
  if (got.status >= 200 && got.status < 300) return out;
  out.why = aws::read_refusal(got.body);
  const auto& code = out.why.code;
  if (code == "ConditionalCheckFailedException") {
    out.condition_failed = true;
    return out;
  }
  if (code == "TransactionCanceledException") {
    read_reasons(got.body, out);
    return out;
  }
  // A failure of the server's own may come after the write.
  out.doubtful = got.status >= 500;
  if (aws::is_passing(got.status, code) || code == "TransactionConflictException" ||
      code == "TransactionInProgressException") {
    out.remedy = remedy::retry;
    return out;
  }
  out.no_table = code == "ResourceNotFoundException";
  out.expired = code == "ExpiredTokenException";
  out.remedy = out.expired ? remedy::retry : remedy::fail;
  return out;
}

namespace {

error error_of(const address& target, long status, const outcome& seen) {
  auto detail = target.name() + ": ";
  if (seen.no_table) {
    return {errc::store_unreachable, detail +
                                         "there is no such table; \"onceguard migrate --store " +
                                         target.name() + "\" makes it"};
  }
  if (aws::is_skew(seen.why)) {
    return {errc::store_unreachable,
            detail +
                "this machine's clock is too far from Amazon's, which refuses its signatures: "
                "synchronise it (" +
                aws::text_of(status, seen.why) + ")"};
  }
  detail += aws::text_of(status, seen.why);
  if (aws::is_denial(status, seen.why.code)) {
    return {errc::store_unreachable,
            detail + " (the credentials, or what they are permitted: docs/dynamodb.md)"};
  }
  if (seen.remedy == remedy::retry) {
    return {errc::store_unreachable, std::move(detail),
            seen.doubtful ? effect::unknown : effect::none};
  }
  return {errc::invalid_argument, std::move(detail)};
}

}  // namespace

error to_error(const address& target, long status, const outcome& seen) {
  auto out = error_of(target, status, seen);
  out.lasting = seen.no_table || aws::is_skew(seen.why) ||
                (seen.remedy == remedy::fail && aws::is_denial(status, seen.why.code));
  return out;
}

error no_table(const address& target) {
  outcome seen;
  seen.no_table = true;
  return to_error(target, 400, seen);
}

}  // namespace onceguard::dynamodb
