#include "store/redis/connection.hpp"

namespace onceguard::redis {

using boost::asio::awaitable;

std::string text_in(const reply_ptr& got) {
  const reply reply(*got);
  if (reply.is_error()) throw broken{failure_of(reply.text())};
  return std::string(reply.text());
}

awaitable<void> connection::connect() {
  if (const auto ec = co_await socket_.connect()) give_up(ec.message());
}

awaitable<void> connection::log_in(const credentials& as) {
  if (as.user.empty() && as.password.empty()) co_return;
  auto command = as.user.empty() ? words("AUTH", as.password) : words("AUTH", as.user, as.password);
  text_in(co_await ask(std::move(command)));
}

awaitable<reply_ptr> connection::ask(std::string command) {
  if (const auto ec = co_await socket_.write(command)) give_up(ec.message());
  co_return co_await read_reply();
}

awaitable<reply_ptr> connection::read_reply() {
  auto got = next_reply();
  while (!got) {
    co_await receive();
    got = next_reply();
  }
  co_return got;
}

awaitable<void> connection::receive() {
  boost::system::error_code ec;
  const auto got = co_await socket_.read(boost::asio::buffer(buffer_), ec);
  if (ec) {
    give_up(ec == boost::asio::error::eof ? "the server closed the connection" : ec.message());
  }
  if (redisReaderFeed(reader_.get(), buffer_.data(), got) != REDIS_OK) give_up(reader_->errstr);
}

reply_ptr connection::next_reply() {
  void* got = nullptr;
  if (redisReaderGetReply(reader_.get(), &got) != REDIS_OK) give_up(reader_->errstr);
  return reply_ptr(static_cast<redisReply*>(got));
}

}  // namespace onceguard::redis
