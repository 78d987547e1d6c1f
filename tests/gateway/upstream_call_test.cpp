// What is sent to an upstream while the lease that it is sent under runs, and after.
#include "gateway/upstream_call.hpp"

#include <array>

#include <gtest/gtest.h>

#include "engine/held_lease.hpp"
#include "gateway/probe.hpp"
#include "store/memory/memory_store.hpp"
#include "support/manual_clock.hpp"
#include "support/run.hpp"

namespace onceguard::gateway {
namespace {

namespace asio = boost::asio;
using testing::run;

class upstream_call_test : public ::testing::Test {
 protected:
  static constexpr milliseconds minute{60'000};

  base::manual_clock clock;
  memory_store records{clock};
  asio::io_context io;
  tcp::acceptor upstream{io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  const endpoint address{"127.0.0.1", upstream.local_endpoint().port()};
  gateway_params params;
  host_lookup names;
  suspect_upstreams suspects;
  upstream_pool pool{io, params, names, suspects};
  byte_budget budget{1u << 20};
  byte_reservation room{budget};

  std::shared_ptr<held_lease> lease_since(milliseconds ago) {
    return std::make_shared<held_lease>(io, records, record_id{}, lease{}, minute, minute,
                                        base::boot_now() - ago);
  }
  call_result call(upstream_connection& up, const held_lease* held) {
    up.reader.answers_to("POST");
    call_limits limits;
    limits.upstream_timeout = milliseconds(50);
    std::string head = "POST / HTTP/1.1\r\nHost: a\r\n\r\n";
    return run(io, call_upstream(up, std::move(head), "", limits, held, room));
  }
  /// All that the upstream gets until the end of the connection.
  static std::string received(tcp::socket& socket) {
    std::string out;
    std::array<char, 4096> piece{};
    for (boost::system::error_code ec; !ec;) {
      out.append(piece.data(), socket.read_some(asio::buffer(piece), ec));
    }
    return out;
  }
};

TEST_F(upstream_call_test, request_under_a_running_lease_is_sent) {
  auto up = run(io, pool.connect(address)).value();
  auto theirs = upstream.accept();
  const auto out = call(*up, lease_since(minute / 2).get());
  EXPECT_EQ(out.end, call_end::timed_out);
  EXPECT_TRUE(out.request_sent);
  up.reset();
  EXPECT_TRUE(received(theirs).starts_with("POST / "));
}

TEST_F(upstream_call_test, under_one_that_is_over_no_byte_is_sent) {
  auto up = run(io, pool.connect(address)).value();
  auto theirs = upstream.accept();
  const auto out = call(*up, lease_since(minute).get());
  EXPECT_EQ(out.end, call_end::lease_over);
  EXPECT_FALSE(out.request_begun);
  up.reset();
  EXPECT_EQ(received(theirs), "");
}

TEST_F(upstream_call_test, what_the_kernel_takes_no_byte_of_was_not_sent) {
  auto up = run(io, pool.connect(address)).value();
  auto theirs = upstream.accept();
  theirs.set_option(tcp::socket::linger(true, 0));
  theirs.close();
  up->stream.raw().wait(tcp::socket::wait_read);  // the reset is here
  const auto out = call(*up, lease_since(minute / 2).get());
  EXPECT_EQ(out.end, call_end::not_sent);
  EXPECT_FALSE(out.request_begun);
}

// What a call without an answer means: released only where no byte of the request went out.
TEST(failure_of_call, operation_is_released_only_if_no_byte_of_its_request_was_sent) {
  const auto kind_of = [](call_end end, bool begun) {
    call_result result;
    result.end = end;
    result.request_begun = begun;
    return failure_of(result).value().kind;
  };
  EXPECT_EQ(kind_of(call_end::not_sent, false), settle_kind::release);
  EXPECT_EQ(kind_of(call_end::lease_over, false), settle_kind::release);
  EXPECT_EQ(kind_of(call_end::lease_over, true), settle_kind::abandon);
  for (const auto end : {call_end::timed_out, call_end::broken, call_end::upgraded}) {
    EXPECT_EQ(kind_of(end, true), settle_kind::abandon);
    EXPECT_EQ(kind_of(end, false), settle_kind::abandon);
  }
}

TEST(failure_of_call, each_end_without_an_answer_has_its_problem_and_reason) {
  const auto check = [](call_end end, bool begun, http::problem problem, unknown_reason reason) {
    call_result result;
    result.end = end;
    result.request_begun = begun;
    const auto failed = failure_of(result);
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->problem, problem);
    EXPECT_EQ(failed->reason, reason);
  };
  using enum http::problem;
  using reason = unknown_reason;
  check(call_end::not_sent, false, upstream_unreachable, reason::none);
  check(call_end::lease_over, false, overloaded, reason::none);
  check(call_end::lease_over, true, outcome_unknown, reason::holder_gone);
  check(call_end::timed_out, true, upstream_timeout, reason::upstream_timeout);
  check(call_end::broken, true, upstream_broken, reason::upstream_broken);
  check(call_end::upgraded, true, upstream_broken, reason::upgraded);
}

TEST(failure_of_call, answer_of_any_size_is_no_failure) {
  call_result result;
  result.end = call_end::answered;
  EXPECT_FALSE(failure_of(result));
  result.end = call_end::too_large;
  EXPECT_FALSE(failure_of(result));
}

TEST_F(upstream_call_test, request_without_a_lease_is_sent) {
  auto up = run(io, pool.connect(address)).value();
  auto theirs = upstream.accept();
  EXPECT_TRUE(call(*up, nullptr).request_sent);
}

TEST_F(upstream_call_test, nothing_is_sent_under_a_lease_that_is_over) {
  probe_question question;
  question.url = "http://127.0.0.1:" + std::to_string(address.port) + "/{key}";
  question.timeout = milliseconds(50);
  const auto held = lease_since(minute);
  const auto report = run(io, ask_application(pool, question, *held));
  EXPECT_EQ(report.status, effect_status::unknown);
  EXPECT_NE(report.why.find("lease"), std::string::npos) << report.why;
  auto theirs = upstream.accept();
  EXPECT_EQ(received(theirs), "");
}

}  // namespace
}  // namespace onceguard::gateway
