// A claim whose reply comes so late that little of its lease is left.
#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "middleware/middleware_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::http {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

template <class T>
using reply = asio::awaitable<result<T>>;
template <class T>
using replies = asio::awaitable<std::vector<result<T>>>;

/// Passes everything on. The reply to a claim waits for as long as `delay`
/// says.
class slow_store final : public store {
 public:
  slow_store(std::unique_ptr<store> inner, const std::atomic<milliseconds>& delay)
      : inner_(std::move(inner)), delay_(delay) {}

  replies<verdict> claim(std::vector<onceguard::claim> batch, milliseconds timeout) override {
    const auto until = base::boot_now() + delay_.load();
    auto out = co_await inner_->claim(std::move(batch), timeout);
    testing::wait_until("the late reply", [&] { return base::boot_now() >= until; });
    co_return out;
  }
  [[nodiscard]] store_traits traits() const override { return inner_->traits(); }
  replies<settled> settle(std::vector<settlement> batch, milliseconds timeout) override {
    return inner_->settle(std::move(batch), timeout);
  }
  replies<bool> extend(std::vector<extension> batch, milliseconds timeout) override {
    return inner_->extend(std::move(batch), timeout);
  }
  reply<resolve_decision> resolve(resolution request, milliseconds timeout) override {
    return inner_->resolve(std::move(request), timeout);
  }
  reply<std::optional<record_view>> find(record_id id, milliseconds timeout) override {
    return inner_->find(id, timeout);
  }
  reply<list_page> list(list_filter filter, std::string cursor, std::size_t limit,
                        milliseconds timeout) override {
    return inner_->list(std::move(filter), std::move(cursor), limit, timeout);
  }
  reply<counts> count(std::string cursor, milliseconds timeout) override {
    return inner_->count(std::move(cursor), timeout);
  }
  reply<import_outcome> import_record(imported_record imported, milliseconds timeout) override {
    return inner_->import_record(std::move(imported), timeout);
  }
  reply<std::size_t> sweep(std::size_t limit, milliseconds timeout) override {
    return inner_->sweep(limit, timeout);
  }
  reply<onceguard::vitals> vitals(milliseconds timeout) override { return inner_->vitals(timeout); }
  void stop() override { inner_->stop(); }

 private:
  std::unique_ptr<store> inner_;
  const std::atomic<milliseconds>& delay_;
};

class middleware_late_claim : public middleware_fixture {
 protected:
  std::atomic<milliseconds> delay_{0ms};
  guard slow_guard_ = guard::open(std::make_unique<slow_store>(records.open(), delay_)).value();
};

TEST_F(middleware_late_claim, runs_nothing_and_leaves_the_key_free) {
  route_policy policy;
  policy.lease = 2'000ms;
  auto served = middleware::make(slow_guard_, with(policy)).value();
  delay_ = 1'500ms;  // more than two thirds of the lease
  const auto late = served.serve(sent.now(), charge());
  EXPECT_EQ(late.status, 503);
  EXPECT_NE(value_of(late, "Retry-After"), "");
  EXPECT_EQ(runs, 0);
  delay_ = 0ms;
  response again;
  testing::wait_until("a claim in time, which a busy machine may miss once more", [&] {
    again = served.serve(sent.now(), charge());
    return again.status != 503;
  });
  EXPECT_EQ(again.body, "run 1");
}

}  // namespace
}  // namespace onceguard::http
