// Work and handlers that can only be moved, from each call that takes one.
#include <future>
#include <memory>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <onceguard/http_sqlite.hpp>

#include "middleware/middleware_fixture.hpp"
#include "support/run.hpp"

namespace onceguard::http {
namespace {

namespace asio = boost::asio;
using text_ptr = std::unique_ptr<std::string>;

text_ptr owned() { return std::make_unique<std::string>("done"); }

/// The guard's thread lets go of the context of its caller a moment after the call.
class move_only : public middleware_fixture {
 protected:
  static inline asio::io_context context;
};

TEST_F(move_only, work_of_a_guard_runs) {
  auto first = [text = owned()] { return *text; };
  EXPECT_EQ(records_guard.execute({"tenant-1", "a"}, first)->value, "done");
  EXPECT_EQ(records_guard.execute({"tenant-1", "b"}, std::move(first))->value, "done");
  auto awaited = [text = owned()]() -> asio::awaitable<std::string> { co_return *text; };
  const onceguard::request later("tenant-1", "c");
  auto call = records_guard.async_execute(later, std::move(awaited));
  EXPECT_EQ(testing::run(context, std::move(call))->value, "done");
}

TEST_F(move_only, work_that_is_finished_later_runs) {
  std::promise<std::string> ended;
  auto result = ended.get_future();
  records_guard.start<std::string>(
      {"tenant-1", "d"}, records_guard.policy(),
      [text = owned()](job<std::string> work) { std::move(work).finish(*text); },
      [ended = std::move(ended)](execution<std::string> made) mutable {
        ended.set_value(made->value);
      });
  EXPECT_EQ(result.get(), "done");
}

TEST_F(move_only, handlers_run) {
  auto served = make();
  const auto first = served.serve(sent.now(), [text = owned()] { return created(*text); });
  EXPECT_EQ(first.body, "done");
  sent.set("Idempotency-Key", "\"key-2\"");
  auto awaited = [text = owned()]() -> asio::awaitable<response> { co_return created(*text); };
  EXPECT_EQ(testing::run(context, served.async_serve(sent.now(), std::move(awaited))).body, "done");
}

TEST_F(move_only, work_in_a_transaction_runs) {
  sqlite3* shop = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &shop), SQLITE_OK);
  const auto once = sqlite::execute(shop, {"tenant-1", "a"}, [text = owned()](const lease&) {
    return answer{200, {}, *text};
  });
  EXPECT_EQ(once->answer->body, "done");
  const auto stepwise =
      sqlite::execute_steps(shop, {"tenant-1", "b"}, [text = owned()](steps& flow) {
        const auto step = flow.step(
            "charge", [mine = owned()] { return std::string_view(*mine); },
            [mine = owned()](const std::string&) {});
        return answer{200, {}, step + *text};
      });
  EXPECT_EQ(stepwise->answer->body, "donedone");
  const auto served = middleware::make({}).value();
  auto moved = [text = owned()] { return created(*text); };
  EXPECT_EQ(sqlite::serve(served, shop, sent.now(), std::move(moved)).body, "done");
  sqlite3_close(shop);
}

}  // namespace
}  // namespace onceguard::http
