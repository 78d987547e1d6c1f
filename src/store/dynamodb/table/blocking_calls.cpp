#include "store/dynamodb/table/blocking_calls.hpp"

#include <algorithm>
#include <poll.h>

#include "aws/jitter.hpp"

namespace onceguard::dynamodb {
namespace {

constexpr milliseconds longest_try{10'000};

}  // namespace

void pause_for(milliseconds length) {
  const auto until = base::boot_now() + length;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now()).count();
    if (left <= 0) return;
    ::poll(nullptr, 0, static_cast<int>(left));
  }
}

result<blocking_answer> blocking_calls::ask(std::string_view action, const std::string& body,
                                            std::string_view expected) {
  constexpr milliseconds first_pause{50};
  constexpr unsigned most_doublings = 4;
  constexpr unsigned most_connects = 3;
  for (unsigned attempt = 0;; ++attempt) {
    const auto signer = credentials_.current();
    if (!signer) return signer.error();
    const auto left = std::clamp(std::chrono::ceil<milliseconds>(until_ - base::boot_now()),
                                 milliseconds(1), longest_try);
    exchange_.prepare(target_.service(), *signer, action, body, {left, left});
    const auto code = exchange_.perform();
    error why;
    bool again = true;
    if (code != 0) {
      const auto broken = exchange_.failure_of(code);
      why = error(errc::store_unreachable, target_.name() + ": " + broken.why);
      why.lasting = broken.lasting;
      again = broken.sent || attempt + 1 < most_connects;
    } else {
      auto got = exchange_.take_answer();
      auto seen = read_outcome(got);
      const bool fits = !expected.empty() && seen.why.code == expected;
      if (seen.remedy == remedy::take || seen.no_table || fits) {
        return blocking_answer{std::move(got.body), std::move(seen), got.date};
      }
      if (seen.expired) credentials_.refuse(*signer);
      why = to_error(target_, got.status, seen);
      again = seen.remedy == remedy::retry;
    }
    const auto pause = aws::jittered(attempt, first_pause, most_doublings);
    if (!again || base::boot_now() + pause >= until_) return why;
    pause_for(pause);
  }
}

}  // namespace onceguard::dynamodb
