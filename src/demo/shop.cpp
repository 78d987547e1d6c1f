#include "demo/shop.hpp"

#include <chrono>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <nlohmann/json.hpp>

#include "base/json_reader.hpp"
#include "base/rethrow.hpp"
#include "demo/wire.hpp"

namespace onceguard::demo {
namespace {

std::string answer_with(std::uint16_t status, std::string_view body) {
  std::string out;
  http1::append_status_line(out, status);
  http1::append_field(out, "Content-Type", "application/json");
  http1::append_content_length(out, body.size());
  http1::append_end_of_head(out);
  out.append(body);
  return out;
}

}  // namespace

shop::shop(asio::io_context& context) : context_(context), pending_(context) {
  pending_.expires_at(asio::steady_timer::time_point::max());
  open();
}

void shop::open() {
  const tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port_);
  acceptor_ = std::make_unique<tcp::acceptor>(context_, endpoint);  // with SO_REUSEADDR
  port_ = acceptor_->local_endpoint().port();
  asio::co_spawn(context_, listen(), base::rethrow);
}

void shop::close() {
  acceptor_.reset();
  boost::system::error_code ignored;
  for (const auto& connection : connections_) {
    if (const auto socket = connection.lock()) socket->close(ignored);
  }
  connections_.clear();
}

void shop::lose_answers(bool one_in_three) {
  loses_ = one_in_three;
  answers_ = 0;
}

bool shop::loses_this_answer() { return loses_ && answers_++ % 3 == 0; }

std::size_t shop::charges(const std::string& order) const {
  const auto found = orders_.find(order);
  return found == orders_.end() ? 0 : found->second.charges.size();
}

std::string shop::first_charge(const std::string& order) const {
  return charges(order) == 0 ? std::string() : orders_.at(order).charges.front();
}

asio::awaitable<bool> shop::arrived(std::string order, std::size_t count) {
  constexpr std::chrono::milliseconds pause{5};
  constexpr int rounds_max = 2'000;
  for (int round = 0; orders_[order].arrived < count; ++round) {
    if (round == rounds_max) co_return false;
    asio::steady_timer timer(context_, pause);
    co_await timer.async_wait(quietly);
  }
  co_return true;
}

asio::awaitable<void> shop::charged(std::string order, std::size_t count) {
  while (orders_[order].charges.size() < count) co_await pending_.async_wait(quietly);
}

void shop::tell() { pending_.cancel(); }

asio::awaitable<void> shop::listen() {
  for (;;) {
    auto [failed, accepted] = co_await acceptor_->async_accept(quietly);
    if (failed) co_return;  // closed
    auto socket = std::make_shared<tcp::socket>(std::move(accepted));
    socket->set_option(tcp::no_delay(true));
    std::erase_if(connections_, [](const auto& connection) { return connection.expired(); });
    connections_.push_back(socket);
    asio::co_spawn(context_, serve(std::move(socket)), base::rethrow);
  }
}

asio::awaitable<void> shop::serve(socket_ptr socket) {
  const http1::limits bounds;
  http1::reader reader(http1::reader::kind::request, bounds);
  message request;
  while (co_await read_message(*socket, reader, request)) {
    bool goes_on = false;
    if (request.method == "POST" && request.target == "/charges") {
      goes_on = co_await charge(*socket, request);
    } else {
      const auto answer = answer_with(404, R"({"error":"POST /charges is all there is"})");
      goes_on = co_await write_all(*socket, answer);
    }
    if (!goes_on || !request.keep_alive) break;
  }
  boost::system::error_code ignored;
  socket->close(ignored);
}

asio::awaitable<bool> shop::charge(tcp::socket& socket, const message& request) {
  const auto question = nlohmann::json::parse(request.body, nullptr, false);
  const auto order = base::member<std::string>(question, "order");
  if (!order) {
    const auto answer = answer_with(400, R"({"error":"an order is needed"})");
    co_return co_await write_all(socket, answer);
  }
  ++orders_[*order].arrived;
  if (delay_.count() > 0) {
    asio::steady_timer work(context_, delay_);
    co_await work.async_wait(quietly);
  }
  nlohmann::ordered_json made;
  made["charge"] = "ch_" + std::to_string(++charges_);
  made["order"] = *order;
  made["amount"] = base::member<int>(question, "amount").value_or(0);
  const auto body = made.dump() + "\n";
  orders_[*order].charges.push_back(body);
  tell();
  if (loses_this_answer()) co_return false;
  const auto answer = answer_with(201, body);
  co_return co_await write_all(socket, answer);
}

}  // namespace onceguard::demo
