#include "store/redis/pool/server.hpp"

#include <boost/asio/co_spawn.hpp>

#include "base/rethrow.hpp"
#include "store/redis/pool/server_facts.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

constexpr std::chrono::seconds linger{5};  // of the connection to a server that has no part yet
}  // namespace

// --- its life -------------------------------------------------------------------------------

steady_time server::open_when_due(steady_time now) {
  if (phase_ != phase::closed || retired_) return steady_time::max();
  if (open_at_ > now) return open_at_;
  enter(phase::opening);
  return steady_time::max();
}

void server::close(failure why) {
  if (phase_ == phase::closed || phase_ == phase::closing) return;
  why_ = std::move(why);
  enter(phase::closing);
}

void server::enter(phase next) {
  const auto now = base::boot_now();
  phase_ = next;
  switch (next) {
    case phase::opening:
      connection_ = std::make_unique<connection>(context_.connections, endpoint_);
      // Earlier than those who wait for the connection give up, so that they learn why.
      arm(base::timer_wheel::of(context_.connections.context),
          context_.params.timeout - context_.params.timeout / 8);
      ++running_;
      return boost::asio::co_spawn(context_.connections.context, live(), base::rethrow);
    case phase::ready:
      disarm();
      why_.reset();
      out_since_.reset();
      ready_since_ = open_at_ = now;
      pipeline_->greet(parts_);  // they may have changed meanwhile
      return context_.events.on_up(*this);
    case phase::closing:
      disarm();
      return connection_->close();
    case phase::closed:
      // At once if the connection was ready, unless it was not for long, nor will it be.
      if (!out_since_ && why_->code != "CLUSTERDOWN") {
        failures_ = 0;
        open_at_ = now;
      } else {
        open_at_ = now + pause_after(failures_++);
      }
      if (!out_since_) out_since_ = now;
      writing_.clear();
      if (const auto ended = std::exchange(pipeline_, nullptr)) ended->return_all(*why_);
      return context_.events.on_down(*this, *why_);
  }
}

awaitable<void> server::live() {
  try {
    co_await set_up();
    enter(phase::ready);
    for (;;) {
      co_await connection_->receive();
      while (auto got = connection_->next_reply()) pipeline_->take(std::move(got));
      // Any reply shows that the server is alive.
      disarm();
      watch();
      context_.events.on_progress();
    }
  } catch (const broken& wrong) {
    close(wrong.why);
  }
  end_coroutine();
}

void server::end_coroutine() {
  if (--running_ == 0) enter(phase::closed);
}

void server::expired() {
  close(
      connection_failure(ready() ? "the server did not answer in time" : connection_->lateness()));
}

void server::retire() {
  retired_ = true;
  if (pipeline_ && !pipeline_->idle()) return;
  close(connection_failure("the server has no part of the store any more"));
}

bool server::lingers(steady_time now) const noexcept { return now < used_at_ + linger; }

// --- setting up -----------------------------------------------------------------------------

awaitable<void> server::set_up() {
  const auto& store_address = context_.connections.address;
  co_await connection_->connect();
  co_await connection_->log_in(store_address.login);
  if (!context_.names.cut()) {
    text_in(co_await connection_->ask(words("SELECT", decimal(store_address.database))));
  }
  // For the server's list of clients. Not all users may set the name.
  co_await connection_->ask(words("CLIENT", "SETNAME", "onceguard"));
  const auto facts = co_await ask_facts(*connection_);
  if (auto wrong = reason_for_distrust(facts, store_address.servers, context_.params.copies_only)) {
    throw broken{std::move(*wrong)};
  }
  std::string node;
  if (store_address.servers == deployment::sentinel) node = endpoint_.text();
  if (store_address.servers == deployment::cluster) {
    node = text_in(co_await connection_->ask(words("CLUSTER", "MYID")));
  }
  durable_ = keeps_everything(facts);
  // A server that does not tell its run may have been started anew.
  if (facts.run.empty() || facts.run != run_) ++life_;
  run_ = facts.run;
  context_.events.on_facts(facts);
  for (std::size_t i = 0; i < script_count; ++i) {
    const auto text = script_text(static_cast<script>(i), facts.flags_of_scripts);
    text_in(co_await connection_->ask(words("SCRIPT", "LOAD", text)));
  }
  pipeline_ = std::make_unique<pipeline>(context_, *this, facts, std::move(node));
  pipeline_->greet(parts_);
  const auto greetings = std::exchange(pipeline_->outgoing(), {});
  co_await connection_->write(greetings);
  while (!pipeline_->idle()) {
    auto got = co_await connection_->read_reply();
    pipeline_->take(std::move(got));
  }
  if (phase_ != phase::opening) throw_connection_failure("it was closed");
}

// --- its parts and requests -----------------------------------------------------------------

void server::hold(bool leads, std::vector<std::size_t> parts) {
  leads_ = leads;
  parts_ = std::move(parts);
  if (ready()) pipeline_->greet(parts_);
}

void server::rename(std::size_t part, const std::string& name) {
  if (pipeline_) pipeline_->rename(part, name);
}

void server::flush() {
  if (!ready()) return;
  pipeline_->end_batch();
  watch();
  if (pipeline_->outgoing().empty() || !writing_.empty()) return;
  writing_.swap(pipeline_->outgoing());
  ++running_;
  boost::asio::co_spawn(context_.connections.context, write_all(), base::rethrow);
}

/// A server that has not answered for too long is given up.
void server::watch() {
  if (pipeline_->idle() || armed()) return;
  arm(base::timer_wheel::of(context_.connections.context),
      context_.params.timeout + context_.params.timeout / 4);
}

awaitable<void> server::write_all() {
  try {
    while (!writing_.empty()) {
      co_await connection_->write(writing_);
      writing_.clear();
      writing_.swap(pipeline_->outgoing());
    }
  } catch (const broken& wrong) {
    close(wrong.why);
  }
  end_coroutine();
}

}  // namespace onceguard::redis
