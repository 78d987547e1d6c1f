#include "store/examination.hpp"

#include <array>
#include <charconv>
#include <cstdlib>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/rethrow.hpp"

namespace onceguard {
namespace {

using grade = base::diagnosis::grade;

constexpr std::int64_t usual_difference = 1'000;  // ms: below it, clocks are synchronised

using version_numbers = std::array<int, 3>;

/// Of "7.0.15": 7, 0, 15. What is missing is 0.
version_numbers read_version(std::string_view text) {
  version_numbers out{};
  const auto* position = text.data();
  const auto* const end = position + text.size();
  for (auto& number : out) {
    position = std::from_chars(position, end, number).ptr;
    if (position == end || *position != '.') break;
    ++position;
  }
  return out;
}

}  // namespace

bool is_faulty(std::string_view version, const faulty_versions& faulty) {
  const auto number = read_version(version);
  return number >= read_version(faulty.first) && number < read_version(faulty.mended);
}

std::string diagnosis_id(store_role role, std::string_view subject) {
  return (role == store_role::truth ? "store-" : "accelerator-") + std::string(subject);
}

base::diagnosis diagnose_refusal(store_role role, const error& why) {
  const bool wrong = why.code == errc::invalid_argument;
  return {grade::fault, diagnosis_id(role, "reach"), why.detail,
          wrong ? "correct the URL, or what it names: a gateway ends at once"
                : "mend what the reason names: a gateway starts, and refuses guarded requests "
                  "until then",
          !wrong && role == store_role::truth};
}

base::diagnosis diagnose_writes(store_role role, store& opened, milliseconds timeout) {
  boost::asio::io_context context(1);
  result<void> reply = error(errc::store_unreachable, "no answer");
  const auto ask = [&]() -> boost::asio::awaitable<void> {
    // Redis answers as of the last poll.
    static_cast<void>(co_await opened.vitals(timeout));
    reply = co_await opened.check_writes(timeout);
  };
  boost::asio::co_spawn(context, ask(), base::rethrow);
  context.run();
  if (reply) return {grade::ok, diagnosis_id(role, "writes"), "it takes writes", {}};
  return {grade::fault, diagnosis_id(role, "writes"), "it takes no writes: " + reply.error().detail,
          "mend what the reason names: a gateway refuses guarded requests until then",
          role == store_role::truth};
}

base::diagnosis diagnose_clock(store_role role, std::int64_t ahead, std::int64_t round_trip) {
  const auto size = std::abs(ahead);
  auto text = "its clock is " + std::to_string(size) + " ms " +
              (ahead < 0 ? "behind" : "ahead of") + " this machine's";
  if (size < usual_difference + round_trip) {
    return {grade::ok, diagnosis_id(role, "clock"), std::move(text), {}};
  }
  return {grade::warning, diagnosis_id(role, "clock"), std::move(text),
          "synchronise both clocks (chrony, systemd-timesyncd): leases are measured by the "
          "store's, and a step of more than five minutes pauses expiry"};
}

}  // namespace onceguard
