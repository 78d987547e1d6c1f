#include "messaging/sqs/sqs_connection.hpp"

#include <algorithm>
#include <optional>

#include "aws/refusal.hpp"
#include "messaging/sqs/backoff.hpp"
#include "messaging/sqs/failure.hpp"

namespace onceguard::messaging::sqs {

connection::connection(const sqs_url& url, milliseconds timeout)
    : name_(url.name()),
      service_{url.endpoint, url.region, "sqs", "AmazonSQS."},
      credentials_("Amazon SQS"),
      timeout_(timeout) {
  const auto found = credentials_.current();
  if (!found) throw failed{found.error()};
}

connection::~connection() = default;

std::string connection::ask(std::string_view action, const std::string& request, time_point until) {
  backoff pause(until);
  std::optional<error> refused;
  while (true) {
    // Of a last try that has little time left, the refusal before it says more.
    auto got = caught([&] { return exchange_once(action, request, until); });
    if (!got) throw failed{refused.value_or(got.error())};
    if (got->status >= 200 && got->status < 300) return std::move(got->body);
    const auto why = aws::read_refusal(got->body);
    refused = refusal(name_, got->status, why);
    if (!aws::is_passing(got->status, why.code) || !pause.wait()) throw failed{*std::move(refused)};
  }
}

aws::answer connection::exchange_once(std::string_view action, const std::string& request,
                                      time_point until) {
  const auto signer = credentials_.current();
  if (!signer) {
    throw failed{error(errc::broker_unreachable, name_ + ": " + signer.error().detail)};
  }
  const auto begin = base::boot_now();
  const auto left = std::max(std::chrono::ceil<milliseconds>(until - begin), milliseconds(1));
  exchange_.prepare(service_, *signer, action, request, {left, timeout_});
  const auto code = exchange_.perform();
  usable_ = code == 0;
  if (!usable_) {
    const auto broken = exchange_.failure_of(code);
    throw failed{error(errc::broker_unreachable, name_ + ": " + broken.why,
                       broken.sent ? effect::unknown : effect::none)};
  }
  auto out = exchange_.take_answer();
  quickest_ = std::min(quickest_, base::boot_now() - begin);
  if (aws::read_refusal(out.status >= 400 ? out.body : std::string()).code ==
      "ExpiredTokenException") {
    credentials_.refuse(*signer);
  }
  return out;
}

}  // namespace onceguard::messaging::sqs
