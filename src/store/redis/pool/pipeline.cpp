#include "store/redis/pool/pipeline.hpp"

#include <boost/asio/co_spawn.hpp>

#include "base/rethrow.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

}  // namespace

// --- its life -------------------------------------------------------------------------------

void pipeline::open() { enter(phase::opening); }

void pipeline::close(failure why) {
  if (!why_) why_ = std::move(why);
  enter(phase::closing);
}

void pipeline::enter(phase next) {
  phase_ = next;
  switch (next) {
    case phase::opening:
      why_.reset();
      full_ = false;
      greeted_.clear();
      counted_in_.reset();
      connection_ = std::make_unique<connection>(in_.connections, in_.to);
      // Earlier than those who wait for the connection give up, so that they learn why.
      arm(base::timer_wheel::of(in_.connections.context),
          in_.params.timeout - in_.params.timeout / 8);
      ++running_;
      boost::asio::co_spawn(in_.connections.context, live(), base::rethrow);
      return;
    case phase::ready:
      disarm();
      ready_since_ = base::boot_now();
      return in_.events.on_ready(*this);
    case phase::closing:
      disarm();
      return connection_->close();
    case phase::closed:
      return return_all();
  }
}

awaitable<void> pipeline::live() {
  try {
    co_await set_up();
    if (why_) throw broken{*why_};
    enter(phase::ready);
    for (;;) {
      co_await connection_->receive();
      take_replies();
    }
  } catch (const broken& wrong) {
    close(wrong.why);
  } catch (const unexpected_reply& wrong) {
    close(connection_failure(wrong.what()));
  }
  if (--running_ == 0) enter(phase::closed);
}

void pipeline::expired() {
  close(connection_failure(phase_ == phase::ready ? "the server did not answer in time"
                                                  : connection_->lateness()));
}

/// Returns all requests after reading and writing have ended. The effect of requests in flight is
/// unknown.
void pipeline::return_all() {
  auto sent = std::exchange(sent_, {});
  auto held = std::exchange(held_, {});
  in_batch_ = 0;
  writes_ = false;
  announced_.clear();
  end_ = {};
  outgoing_.clear();
  const auto back = [&](entry& entry, bool not_carried_out) {
    if (!entry.of) return;
    entry.what->doubtful = entry.what->doubtful || !not_carried_out;
    in_.events.on_returned(*this, std::move(entry), *why_);
  };
  for (auto& each : held) back(each.of, false);
  for (auto& each : sent) back(each.of, each.not_carried_out);
  in_.events.on_lost(*this, *why_);
}

// --- sending --------------------------------------------------------------------------------

std::size_t pipeline::room() const noexcept {
  if (!ready()) return 0;
  const auto taken = sent_.size() + held_.size();
  return taken < in_.params.under_way_max ? in_.params.under_way_max - taken : 0;
}

void pipeline::send(entry entry, bool asking) {
  if (asking) {
    append_command(outgoing_, {"ASKING"});
    sent_.push_back({.what = kind::ignored});
  }
  const auto& request = *entry.what;
  ++in_batch_;
  writes_ = writes_ || request.writes;
  if (request.announces) announced_ += base::as_chars(*request.about).substr(0, 8);
  const auto begin = outgoing_.size();
  outgoing_ += request.command;
  if (request.called) fit_call(begin, *request.called);
  sent_.push_back({.of = std::move(entry)});
}

void pipeline::fit_call(std::size_t begin, script which) {
  if (!flags_of_scripts_) call_without_flags(outgoing_, begin, which);
}

void pipeline::flush() {
  if (!ready()) return;
  end_batch();
  watch();
  if (outgoing_.empty() || !writing_.empty()) return;
  writing_.swap(outgoing_);
  ++running_;
  boost::asio::co_spawn(in_.connections.context, write_all(), base::rethrow);
}

/// WAIT always follows a write of this connection, so that WAIT also covers the writes of others
/// that this batch only read.
void pipeline::end_batch() {
  if (std::exchange(in_batch_, 0) == 0) return;
  if (!announced_.empty()) {
    append_command(outgoing_, {"PUBLISH", in_.names.settled(), std::exchange(announced_, {})});
    sent_.push_back({.what = kind::ignored});
  }
  if (counted_in_ && (writes_ || replicas() > 0)) {
    const auto& metadata = in_.names.metadata(*counted_in_);
    const auto& name = greeted_.at(*counted_in_);
    if (full_) {
      const auto begin = outgoing_.size();
      append_call(outgoing_, script::count, metadata, {}, {name});
      fit_call(begin, script::count);
    } else {
      append_command(outgoing_, {"HINCRBY", metadata, name, "1"});
    }
    sent_.push_back({.what = kind::counting, .part = *counted_in_});
  }
  if (replicas() > 0) {
    const auto patience = std::max<std::int64_t>(in_.params.timeout.count() / 2, 1);
    append_command(outgoing_, {"WAIT", decimal(replicas()), decimal(patience)});
    sent_.push_back({.what = kind::wait});
  }
  sent_.push_back({.what = kind::end});
  writes_ = false;
}

void pipeline::watch() {
  if (sent_.empty() || armed()) return;
  arm(base::timer_wheel::of(in_.connections.context), in_.params.timeout + in_.params.timeout / 4);
}

awaitable<void> pipeline::write_all() {
  try {
    while (!writing_.empty()) {
      co_await connection_->write(writing_);
      writing_.clear();
      writing_.swap(outgoing_);
    }
  } catch (const broken& wrong) {
    writing_.clear();
    close(wrong.why);
  }
  if (--running_ == 0) enter(phase::closed);
}

// --- replies --------------------------------------------------------------------------------

void pipeline::take_replies() {
  while (auto got = connection_->next_reply()) {
    if (sent_.empty()) throw unexpected_reply("a reply that nobody asked for");
    auto first = std::move(sent_.front());
    sent_.pop_front();
    take(std::move(first), std::move(got));
    while (!why_ && !sent_.empty() && sent_.front().what == kind::end) {
      sent_.pop_front();
      take_end();
    }
    if (why_) return;
  }
  // Any reply shows that the server is alive.
  disarm();
  watch();
  in_.events.on_progress(*this);
}

void pipeline::take(expected first, reply_ptr got) {
  const reply reply(*got);
  switch (first.what) {
    case kind::request: {
      // A refused request needs no replicas and no count.
      const bool waits = first.of.what->writes || replicas() > 0;
      held_request one{std::move(first.of), std::move(got)};
      if (!waits || reply.is_error()) return conclude(std::move(one), false);
      return held_.push_back(std::move(one));
    }
    case kind::counting:
      return take_count(first.part, reply);
    case kind::wait:
      end_.confirmed = end_.confirmed && reply.is_integer() && reply.integer() >= replicas();
      return;
    case kind::greeting:
      return take_greeting(first.part, reply);
    case kind::ignored:
    case kind::end:
      return;
  }
}

void pipeline::take_count(std::size_t part, const reply& reply) {
  if (!reply.is_error()) {
    end_.part = part;
    end_.count = reply.number<std::uint64_t>(~std::uint64_t{0});
    return;
  }
  auto refused = failure_of(reply.text());
  if (remedy_of(refused) == remedy::reconnect) return close(std::move(refused));
  if (refused.code == "OOM") {
    full_ = true;  // this batch is not counted, the next one is
  } else if (remedy_of(refused) != remedy::redirect) {
    end_.uncounted = std::move(refused);
  } else {
    // The metadata of the part are on their way to another server.
    end_.confirmed = replicas() == 0;
    if (counted_in_ == part) count_in_next_part();
    in_.events.on_astray(*this);
  }
}

void pipeline::count_in_next_part() {
  const auto former = std::exchange(counted_in_, std::nullopt);
  generation_ = 0;
  for (const auto& [part, name] : greeted_) {
    const bool later = former && counted_in_ && *counted_in_ < *former && part > *former;
    if (part != former && !name.empty() && (!counted_in_ || later)) counted_in_ = part;
  }
}

void pipeline::take_end() {
  const auto end = std::exchange(end_, {});
  auto held = std::exchange(held_, {});
  if (!end.confirmed) {
    const auto why = connection_failure("too few replicas have confirmed it");
    for (auto& each : held) {
      each.of.what->doubtful = true;
      in_.events.on_returned(*this, std::move(each.of), why);
    }
    return;
  }
  if (end.uncounted) {
    for (auto& each : held) {
      each.of.what->fail(to_error(*end.uncounted, in_.connections.at.name, effect::unknown));
      in_.events.on_ended(std::move(each.of));
    }
    return;
  }
  // The data may have gone back during this connection. A new greeting finds out what was lost.
  const bool counts = end.part && end.part == counted_in_;
  const bool forgot = counts && end.count <= generation_;
  if (counts) generation_ = end.count;
  for (auto& each : held) conclude(std::move(each), forgot);
  if (forgot) return close(connection_failure("the server's data is older than it was"));
  if (counts && !why_) in_.events.on_generation(*end.part, run_, end.count);
}

/// `forgot`: the server's memory is not what it was.
void pipeline::conclude(held_request one, bool forgot) {
  auto& subject = one.of;
  const reply reply(*one.got);
  const auto& name = in_.connections.at.name;
  if (reply.is_error()) {
    auto refused = failure_of(reply.text());
    refused.misconfigured = false;  // it was right when the store was opened
    if (remedy_of(refused) == remedy::redirect) {
      return in_.events.on_redirected(*this, std::move(subject), refused);
    }
    if (remedy_of(refused) == remedy::reconnect) {
      sent_.push_front({.of = std::move(subject), .not_carried_out = true});
      return close(refused);
    }
    const auto after = subject.what->doubtful ? effect::unknown : effect::none;
    subject.what->fail(to_error(refused, name, after));
    return in_.events.on_ended(std::move(subject));
  }
  if (subject.what->grants && (forgot || !in_.events.memory_known())) {
    // Nobody holds the lease that was granted, and it is given back.
    subject.what->fail(
        error(errc::store_lost, name + ": its data is older than it was", effect::done));
    return in_.events.on_ended(std::move(subject));
  }
  subject.what->got = std::move(one.got);
  in_.events.on_ended(std::move(subject));
}

}  // namespace onceguard::redis
