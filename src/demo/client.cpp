#include "demo/client.hpp"

#include <memory>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "base/rethrow.hpp"
#include "demo/wire.hpp"

namespace onceguard::demo {

shop_connection::shop_connection(const asio::any_io_executor& executor)
    : socket_(executor), reader_(http1::reader::kind::answer, http1::limits()) {
  reader_.answers_to("POST");
}

asio::awaitable<bool> shop_connection::open(const base::endpoint& address) {
  const tcp::endpoint endpoint(asio::ip::make_address(address.host), address.port);
  const auto [failed] = co_await socket_.async_connect(endpoint, quietly);
  if (failed) co_return false;
  socket_.set_option(tcp::no_delay(true));
  co_return true;
}

asio::awaitable<bool> shop_connection::send(const payment& payment) {
  nlohmann::ordered_json body;
  body["order"] = payment.order;
  body["amount"] = payment.amount;
  const auto text = body.dump();
  out_.clear();
  http1::append_request_line(out_, "POST", "/charges");
  http1::append_field(out_, "Host", "shop.example");
  http1::append_field(out_, "Authorization", "Bearer " + payment.customer);
  http1::append_field(out_, "Idempotency-Key", '"' + payment.key + '"');
  http1::append_field(out_, "Content-Type", "application/json");
  http1::append_content_length(out_, text.size());
  http1::append_end_of_head(out_);
  out_ += text;
  co_return co_await write_all(socket_, out_);
}

asio::awaitable<reply> shop_connection::receive() {
  reply got;
  if (!co_await read_message(socket_, reader_, got.message)) co_return no_answer();
  co_return got;
}

asio::awaitable<reply> shop_connection::lose() {
  co_await socket_.async_wait(tcp::socket::wait_read, quietly);
  hang_up();
  co_return no_answer();
}

void shop_connection::hang_up() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

asio::awaitable<reply> pay(const base::endpoint& endpoint, const payment& payment) {
  shop_connection connection(co_await asio::this_coro::executor);
  if (!co_await connection.open(endpoint)) co_return no_answer();
  if (!co_await connection.send(payment)) co_return no_answer();
  co_return co_await connection.receive();
}

asio::awaitable<reply> pay_and_lose_answer(const base::endpoint& endpoint, const payment& payment) {
  shop_connection connection(co_await asio::this_coro::executor);
  if (!co_await connection.open(endpoint)) co_return no_answer();
  if (!co_await connection.send(payment)) co_return no_answer();
  co_return co_await connection.lose();
}

namespace {

// Several concurrent payments. Lives as long as any payment or the waiting coroutine.
struct crowd {
  crowd(const asio::any_io_executor& executor, const payment& order) : paid(order), over(executor) {
    over.expires_at(asio::steady_timer::time_point::max());
  }
  payment paid;
  std::vector<std::unique_ptr<shop_connection>> connections;
  std::vector<reply> replies;
  asio::steady_timer over;
};

asio::awaitable<void> pay_in_crowd(std::shared_ptr<crowd> all, std::size_t mine) {
  reply got = no_answer();
  if (co_await all->connections[mine]->send(all->paid))
    got = co_await all->connections[mine]->receive();
  all->replies.push_back(std::move(got));
  if (all->replies.size() == all->connections.size()) all->over.cancel();
}

}  // namespace

asio::awaitable<std::vector<reply>> pay_at_once(const base::endpoint& endpoint,
                                                const payment& payment, std::size_t count) {
  const auto executor = co_await asio::this_coro::executor;
  const auto all = std::make_shared<crowd>(executor, payment);
  for (std::size_t i = 0; i < count; ++i) {
    all->connections.push_back(std::make_unique<shop_connection>(executor));
    co_await all->connections.back()->open(endpoint);
  }
  for (std::size_t i = 0; i < count; ++i)
    asio::co_spawn(executor, pay_in_crowd(all, i), base::rethrow);
  while (all->replies.size() < count) co_await all->over.async_wait(quietly);
  co_return std::move(all->replies);
}

}  // namespace onceguard::demo
