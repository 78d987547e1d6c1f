#include "messaging/redis_streams/stream_connection.hpp"

#include <algorithm>

#include "base/value_text.hpp"
#include "messaging/redis_streams/stream_server.hpp"

namespace onceguard::messaging::redis_streams {

connection::connection(const stream_address& where, milliseconds timeout)
    : name_(where.url.name()), timeout_(std::max(timeout, milliseconds(1))) {
  auto found = caught([&] { return connect_to_stream(where, base::boot_now() + timeout_); });
  if (!found) {
    const auto& why = found.error();
    throw failed{error(why.code, name_ + ": " + why.detail, effect::none)};
  }
  server_ = *std::move(found);
}

template <class Work>
auto connection::on_server(Work work) {
  if (!usable()) {
    throw failed{error(errc::broker_unreachable, name_ + ": the connection broke before")};
  }
  auto done = caught(work);
  if (!done) {
    // Replies have no names: after an error the next one read might belong to an earlier question.
    server_.reset();
    const auto& why = done.error();
    throw failed{error(why.code, name_ + ": " + why.detail, why.effect)};
  }
  return done;
}

reply_ptr connection::ask(const command& question) {
  auto got = std::move(ask_all({&question, 1}).front());
  check(*got);
  return got;
}

std::vector<reply_ptr> connection::ask_all(std::span<const command> questions) {
  const auto until = base::boot_now() + timeout_;
  return *on_server([&] { return server_->ask_all(questions, until); });
}

void connection::check(const redisReply& got) {
  if (got.type != REDIS_REPLY_ERROR) return;
  auto why = refusal(name_, fault_in(got));
  if (why.code == errc::broker_unreachable) server_.reset();
  throw failed{std::move(why)};
}

void connection::wait(time_point until) {
  static_cast<void>(on_server([&] { server_->wait(until); }));
}

}  // namespace onceguard::messaging::redis_streams
