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
  host_names names;
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
