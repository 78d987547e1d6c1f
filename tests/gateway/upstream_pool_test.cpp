// Which of the kept connections to an upstream are used again, and which are closed.
#include "gateway/upstream_pool.hpp"

#include <algorithm>
#include <deque>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

namespace onceguard::gateway {
namespace {

namespace asio = boost::asio;

class upstream_pool_test : public ::testing::Test {
 protected:
  static constexpr bool guarded = true;
  static constexpr bool unguarded = false;

  asio::io_context io;
  const asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  tcp::acceptor upstream{io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  const endpoint address{"127.0.0.1", upstream.local_endpoint().port()};
  gateway_params params;
  host_lookup names;
  suspect_upstreams suspects;
  std::deque<tcp::socket> accepted;  // what the upstream sees of them, in their order

  /// Runs both ends until the gateway's is done.
  template <class Awaitable>
  auto run(Awaitable act) {
    auto done = asio::co_spawn(io, std::move(act), asio::use_future);
    while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready) io.run_one();
    return done.get();
  }
  upstream_ptr take(upstream_pool& pool, bool fresh_enough) {
    auto got = run(pool.take(address, fresh_enough));
    EXPECT_TRUE(got) << (got ? "" : got.error().detail);
    if (!(*got)->reused) accepted.push_back(upstream.accept());
    return std::move(*got);
  }
  /// Of one that is fresh, however long a busy machine takes until somebody wants it.
  static constexpr milliseconds in_a_minute{-60'000};

  /// Keeps it as if that had been so long ago.
  static void keep(upstream_pool& pool, upstream_ptr connection, milliseconds ago = in_a_minute) {
    auto& kept = *connection;
    pool.keep(std::move(connection));
    kept.idle_since -= ago;
  }
  /// Has the gateway closed it? Both ends are on this machine, so the upstream knows at once.
  static bool closed(tcp::socket& seen) {
    char byte = 0;
    return ::recv(seen.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }
  [[nodiscard]] std::size_t open() {
    return static_cast<std::size_t>(
        std::count_if(accepted.begin(), accepted.end(), [](auto& one) { return !closed(one); }));
  }
};

TEST_F(upstream_pool_test, the_latest_is_taken_first) {
  upstream_pool pool(io, params, names, suspects);
  auto first = take(pool, guarded);
  auto second = take(pool, guarded);
  const auto* const latest = second.get();
  keep(pool, std::move(first));
  keep(pool, std::move(second));
  EXPECT_EQ(take(pool, guarded).get(), latest);
  EXPECT_EQ(accepted.size(), 2);
}

TEST_F(upstream_pool_test, an_old_one_is_not_for_guarded_requests) {
  upstream_pool pool(io, params, names, suspects);
  keep(pool, take(pool, guarded), milliseconds(1'000));
  EXPECT_TRUE(take(pool, unguarded)->reused);
  keep(pool, take(pool, guarded), milliseconds(1'000));
  EXPECT_FALSE(take(pool, guarded)->reused);
}

TEST_F(upstream_pool_test, bursts_of_guarded_requests_leave_no_pile_behind) {
  upstream_pool pool(io, params, names, suspects);
  constexpr std::size_t at_once = 8;
  for (int burst = 0; burst < 5; ++burst) {
    std::vector<upstream_ptr> used;
    for (std::size_t i = 0; i < at_once; ++i) used.push_back(take(pool, guarded));
    for (auto& one : used) keep(pool, std::move(one), milliseconds(2'000));
    EXPECT_EQ(open(), at_once);
  }
}

TEST_F(upstream_pool_test, a_full_one_keeps_the_latest) {
  upstream_pool pool(io, params, names, suspects);
  constexpr std::size_t more_than_are_kept = 300;
  std::vector<upstream_ptr> used;
  for (std::size_t i = 0; i < more_than_are_kept; ++i) used.push_back(take(pool, guarded));
  const auto* const latest = used.back().get();
  for (auto& one : used) keep(pool, std::move(one));
  EXPECT_EQ(open(), 256);
  EXPECT_TRUE(closed(accepted.front()));
  EXPECT_EQ(take(pool, guarded).get(), latest);
}

TEST_F(upstream_pool_test, connection_that_is_idle_for_too_long_is_closed) {
  params.idle_timeout = milliseconds(30);
  upstream_pool pool(io, params, names, suspects);
  keep(pool, take(pool, unguarded), milliseconds(0));
  keep(pool, take(pool, unguarded), milliseconds(0));
  while (open() > 0) io.run_one();  // the deadline is all that there is to run
}

TEST_F(upstream_pool_test, what_is_idle_for_too_long_is_not_taken) {
  upstream_pool pool(io, params, names, suspects);
  keep(pool, take(pool, unguarded), params.idle_timeout);
  EXPECT_FALSE(take(pool, unguarded)->reused);
  EXPECT_TRUE(closed(accepted.front()));
}

TEST_F(upstream_pool_test, one_that_the_upstream_closed_is_not_taken) {
  upstream_pool pool(io, params, names, suspects);
  keep(pool, take(pool, unguarded));
  accepted.front().close();
  EXPECT_FALSE(take(pool, unguarded)->reused);
}

// ---- upstreams that end kept connections without having said so

TEST_F(upstream_pool_test, who_ends_a_fresh_one_gets_fresh_ones_for_guarded_requests) {
  upstream_pool pool(io, params, names, suspects);
  keep(pool, take(pool, guarded));
  accepted.back().close();
  const auto later = take(pool, guarded);
  EXPECT_FALSE(later->reused);
  keep(pool, take(pool, guarded));
  EXPECT_FALSE(take(pool, guarded)->reused);
  EXPECT_EQ(open(), 2) << "the new one takes the place of the one that was not used";
}

TEST_F(upstream_pool_test, unguarded_requests_still_share_its_connections) {
  upstream_pool pool(io, params, names, suspects);
  suspects.suspect(address);
  keep(pool, take(pool, guarded));
  EXPECT_TRUE(take(pool, unguarded)->reused);
}

TEST_F(upstream_pool_test, what_one_thread_saw_holds_for_all) {
  upstream_pool one(io, params, names, suspects);
  upstream_pool other(io, params, names, suspects);
  keep(one, take(one, guarded));
  accepted.back().close();
  EXPECT_FALSE(take(one, unguarded)->reused);
  keep(other, take(other, guarded));
  EXPECT_FALSE(take(other, guarded)->reused);
}

TEST_F(upstream_pool_test, another_upstream_is_not_suspected) {
  upstream_pool pool(io, params, names, suspects);
  suspects.suspect({address.host, static_cast<std::uint16_t>(address.port + 1)});
  keep(pool, take(pool, guarded));
  EXPECT_TRUE(take(pool, guarded)->reused);
}

TEST_F(upstream_pool_test, suspicion_of_an_upstream_ends) {
  suspect_upstreams briefly(milliseconds(50));
  upstream_pool pool(io, params, names, briefly);
  briefly.suspect(address);
  keep(pool, take(pool, guarded));
  while (briefly.suspected(address, base::boot_now())) std::this_thread::yield();
  EXPECT_TRUE(take(pool, guarded)->reused);
}

TEST_F(upstream_pool_test, suspicion_is_renewed_while_the_upstream_breaks_connections) {
  suspect_upstreams briefly(milliseconds(200));
  upstream_pool pool(io, params, names, briefly);
  briefly.suspect(address);
  const auto first_end = base::boot_now() + milliseconds(200);
  keep(pool, take(pool, guarded));
  accepted.back().close();
  while (base::boot_now() < first_end - milliseconds(150)) std::this_thread::yield();
  EXPECT_FALSE(take(pool, guarded)->reused);
  EXPECT_TRUE(briefly.suspected(address, first_end));
}

TEST_F(upstream_pool_test, an_old_one_may_be_ended_at_any_time) {
  upstream_pool pool(io, params, names, suspects);
  keep(pool, take(pool, guarded), milliseconds(1'000));
  accepted.back().close();
  EXPECT_FALSE(take(pool, unguarded)->reused);
  EXPECT_FALSE(suspects.suspected(address, base::boot_now()));
}

TEST_F(upstream_pool_test, upstream_that_broke_a_kept_connection_is_suspected) {
  upstream_pool pool(io, params, names, suspects);
  auto fresh = take(pool, guarded);
  pool.broke(*fresh);
  EXPECT_FALSE(suspects.suspected(address, base::boot_now()));
  keep(pool, std::move(fresh));
  auto kept = take(pool, guarded);
  ASSERT_TRUE(kept->reused);
  pool.broke(*kept);
  EXPECT_TRUE(suspects.suspected(address, base::boot_now()));
}

TEST_F(upstream_pool_test, one_that_broke_after_a_long_rest_or_within_an_answer_is_not) {
  upstream_pool pool(io, params, names, suspects);
  keep(pool, take(pool, guarded), milliseconds(1'000));
  auto kept = take(pool, unguarded);
  ASSERT_TRUE(kept->reused);
  pool.broke(*kept);
  keep(pool, std::move(kept));
  kept = take(pool, guarded);
  ASSERT_TRUE(kept->reused);
  constexpr std::string_view begun = "HTTP/1.1 200 OK\r\n";
  std::copy(begun.begin(), begun.end(), kept->reader.prepare(begun.size()).begin());
  kept->reader.commit(begun.size());
  pool.broke(*kept);
  EXPECT_FALSE(suspects.suspected(address, base::boot_now()));
}

TEST_F(upstream_pool_test, connection_with_unexpected_bytes_is_not_taken) {
  upstream_pool pool(io, params, names, suspects);
  keep(pool, take(pool, unguarded));
  asio::write(accepted.front(), asio::buffer("HTTP/1.1 408 Too late\r\n\r\n", 25));
  EXPECT_FALSE(take(pool, unguarded)->reused);
}

}  // namespace
}  // namespace onceguard::gateway
