#include "messaging/redis_streams/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/value_text.hpp"

namespace onceguard::messaging::redis_streams {
namespace {

timeval timeval_of(milliseconds duration) {
  timeval out{};
  out.tv_sec = static_cast<time_t>(duration.count() / 1'000);
  out.tv_usec = static_cast<suseconds_t>(duration.count() % 1'000 * 1'000);
  return out;
}

}  // namespace

connection::connection(const broker_url& url, milliseconds timeout)
    : name_(url.name()), timeout_(std::max(timeout, milliseconds(1))) {
  const auto limit = timeval_of(timeout_);
  context_.reset(redisConnectWithTimeout(url.host.c_str(), url.port, limit));
  if (!context_) give_up("no memory for a connection", effect::none);
  if (context_->err != 0) {
    // hiredis gives what the resolver says as it is, and a failure of the system by its errno.
    const bool resolver = context_->err == REDIS_ERR_OTHER;
    give_up((resolver ? "the host's name can't be resolved: " : "no connection: ") +
                std::string(context_->errstr),
            effect::none);
  }
  ::fcntl(context_->fd, F_SETFD, FD_CLOEXEC);
  // Below, poll() waits; this is for reads that hiredis would block in all the same.
  redisSetTimeout(context_.get(), limit);
  if (url.login) log_in(*url.login);
}

void connection::log_in(const std::pair<std::string, std::string>& login) {
  const command question{"AUTH", login.first, login.second};
  const auto got = std::move(ask_all({&question, 1}).front());
  if (got->type == REDIS_REPLY_ERROR) {
    give_up("the login is refused: " + std::string(got->str, static_cast<std::size_t>(got->len)),
            effect::none);
  }
}

reply_ptr connection::ask(const command& question) {
  auto got = std::move(ask_all({&question, 1}).front());
  check(*got);
  return got;
}

std::vector<reply_ptr> connection::ask_all(std::span<const command> questions) {
  const auto until = base::boot_now() + timeout_;
  std::string bytes;
  for (const auto& question : questions) question.append_to(bytes);
  send(bytes, until);
  std::vector<reply_ptr> out;
  while (out.size() < questions.size()) out.push_back(read(until));
  return out;
}

void connection::check(const redisReply& got) {
  if (got.type != REDIS_REPLY_ERROR) return;
  auto why = refusal(name_, {got.str, static_cast<std::size_t>(got.len)});
  if (why.code == errc::broker_unreachable) context_.reset();
  throw failed{std::move(why)};
}

void connection::wait(time_point until) {
  if (!usable()) give_up("the connection broke before", effect::none);
  // Nothing was asked: what can be read is the end, or the server's reason for it.
  if (ready(POLLIN | POLLRDHUP, until)) give_up("the server closed the connection", effect::none);
}

// Not by hiredis, whose write() raises SIGPIPE where the server has gone.
void connection::send(const std::string& bytes, time_point until) {
  if (!usable()) give_up("the connection broke before", effect::none);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto sent =
        ::send(context_->fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!ready(POLLOUT, until)) give_up_late(effect::unknown);
    } else if (errno != EINTR) {
      give_up(std::string("the connection broke: ") + std::strerror(errno), effect::unknown);
    }
  }
}

reply_ptr connection::read(time_point until) {
  while (true) {
    void* got = nullptr;
    const bool whole = redisGetReplyFromReader(context_.get(), &got) == REDIS_OK;
    if (got != nullptr) return reply_ptr(static_cast<redisReply*>(got));
    if (whole && !ready(POLLIN, until)) give_up_late(effect::unknown);
    if (!whole || redisBufferRead(context_.get()) != REDIS_OK) {
      give_up("the connection broke: " + std::string(context_->errstr), effect::unknown);
    }
  }
}

bool connection::ready(short events, time_point until) const {
  using std::chrono::milliseconds;
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now());
    pollfd waiting{context_->fd, events, 0};
    const auto most = std::clamp<milliseconds::rep>(left.count(), 0, 60'000);
    const int found = ::poll(&waiting, 1, static_cast<int>(most));
    if (found > 0) return true;
    if (left.count() <= 0 && found == 0) return false;
  }
}

void connection::give_up(const std::string& why, effect known) {
  error out(errc::broker_unreachable, name_ + ": " + why, known);
  context_.reset();
  throw failed{std::move(out)};
}

void connection::give_up_late(effect known) {
  give_up("no answer within " + base::duration_text(timeout_), known);
}

}  // namespace onceguard::messaging::redis_streams
