#include "store/redis/pipeline.hpp"

#include <charconv>

#include <boost/asio/co_spawn.hpp>

#include "base/rethrow.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

/// The reply of TIME: seconds and microseconds.
milliseconds server_time(const reply& reply) {
  const auto number = [&](std::size_t i) {
    const auto text = reply.at(i).text();
    std::int64_t out = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), out).ec != std::errc{}) {
      throw unexpected_reply("TIME tells no number");
    }
    return out;
  };
  return milliseconds(number(0) * 1'000 + number(1) / 1'000);
}

}  // namespace

// --- its life -------------------------------------------------------------------------------

void pipeline::open() {
  phase_ = phase::opening;
  why_.reset();
  generation_ = 0;
  counting_in_.reset();
  connection_ = std::make_unique<connection>(in_.connections, in_.to);
  arm(base::timer_wheel::of(in_.connections.context), in_.params.timeout);
  ++running_;
  boost::asio::co_spawn(in_.connections.context, live(), base::rethrow);
}

awaitable<void> pipeline::live() {
  try {
    co_await set_up();
    if (why_) throw broken{*why_};
    disarm();
    phase_ = phase::ready;
    ready_since_ = base::boot_now();
    in_.events.on_ready(*this);
    for (;;) {
      co_await connection_->receive();
      take_replies();
    }
  } catch (const broken& wrong) {
    close(wrong.why);
  } catch (const unexpected_reply& wrong) {
    close(connection_failure(wrong.what()));
  }
  --running_;
  return_all();
}

void pipeline::close(failure why) {
  if (!why_) why_ = std::move(why);
  disarm();
  if (connection_) connection_->close();
}

void pipeline::expired() {
  close(connection_failure(phase_ == phase::ready ? "the server did not answer in time"
                                                  : "the connection was not made in time"));
}

/// Returns all requests after reading and writing have ended. The effect of requests in flight is
/// unknown.
void pipeline::return_all() {
  if (running_ > 0) return;
  phase_ = phase::closed;
  auto sent = std::exchange(sent_, {});
  auto held = std::exchange(held_, {});
  unconfirmed_ = 0;
  wrote_ = wrote_plainly_ = uncounted_ = false;
  counted_ = true;
  held_count_.reset();
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
  if (!ready() || why_) return 0;
  const auto taken = sent_.size() + held_.size();
  return taken < in_.params.under_way_max ? in_.params.under_way_max - taken : 0;
}

void pipeline::send(entry entry, bool asking) {
  if (asking) {
    append_command(outgoing_, {"ASKING"});
    expect({.what = kind::asking});
  }
  ++unconfirmed_;
  if (!in_.names.cut() && entry.what->write_plainly(outgoing_, in_.names, in_.tokens)) {
    wrote_plainly_ = true;
    return expect({.what = kind::plain, .of = std::move(entry)});
  }
  wrote_ = wrote_ || entry.what->carries_generation();
  entry.what->write(outgoing_, calls_, in_.names);
  expect({.what = kind::request, .of = std::move(entry)});
}

void pipeline::greet(std::size_t part) {
  append_greeting(outgoing_, part);
  expect({.what = kind::greeting, .part = part});
}

void pipeline::count_in(std::optional<std::size_t> part) {
  if (counting_in_ == part) return;
  counting_in_ = part;
  held_count_.reset();
  generation_ = 0;
}

void pipeline::flush() {
  if (why_) return;
  append_counting();
  append_reservation();
  watch();
  if (outgoing_.empty() || !writing_.empty()) return;
  writing_.swap(outgoing_);
  ++running_;
  boost::asio::co_spawn(in_.connections.context, write_all(), base::rethrow);
}

/// Appends a write after a batch that counts the writes that no script has counted; in a cluster,
/// all of them. WAIT always follows a write of this connection, so that WAIT also covers the writes
/// of others that this batch only read.
void pipeline::append_counting() {
  if (unconfirmed_ == 0) return;
  if (in_.names.cut()) {
    if (counting_in_ && (wrote_ || replicas() > 0)) {
      append_command(outgoing_, {"HINCRBY", in_.names.metadata(*counting_in_), "generation", "1"});
      expect({.what = kind::counting, .part = *counting_in_});
    }
  } else if (wrote_plainly_) {
    append_command(outgoing_, {"INCR", in_.names.generation()});
    expect({.what = kind::counting});
    append_command(outgoing_, {"TIME"});
    expect({.what = kind::clock, .taken_at = in_.tokens.taken_at()});
  } else if (replicas() > 0) {
    append_command(outgoing_, {"INCR", in_.names.touch()});
    expect({.what = kind::touching});
  }
  if (replicas() > 0) {
    const auto patience = std::max<std::int64_t>(in_.params.timeout.count() / 2, 1);
    append_command(outgoing_, {"WAIT", decimal(replicas()), decimal(patience)});
    expect({.what = kind::wait});
  }
  unconfirmed_ = 0;
  wrote_ = wrote_plainly_ = false;
}

/// Appended after the requests that needed tokens, so that new tokens arrive before later requests.
void pipeline::append_reservation() {
  const auto now = base::boot_now();
  if (!in_.tokens.ask_for_more(now)) return;
  append_reserve(outgoing_);
  expect({.what = kind::tokens, .sent_at = now});
}

void pipeline::append_reserve(std::string& text) const {
  append_call(text, calls_, script::reserve, in_.names.metadata(0), in_.names.counters(),
              {decimal(token_block::size)});
}

void pipeline::watch() {
  if (sent_.empty() || armed()) return;
  arm(base::timer_wheel::of(in_.connections.context), in_.params.timeout + in_.params.timeout / 4);
}

awaitable<void> pipeline::write_all() {
  while (!writing_.empty()) {
    const auto ec = co_await connection_->write(writing_);
    writing_.clear();
    if (ec) {
      close(connection_failure("writing: " + ec.message()));
      break;
    }
    writing_.swap(outgoing_);
  }
  if (--running_ == 0) return_all();
}

// --- replies --------------------------------------------------------------------------------

void pipeline::take_replies() {
  while (auto got = connection_->next_reply()) {
    if (sent_.empty()) throw unexpected_reply("a reply that nobody asked for");
    const auto value = sent_.front().what;
    if (value == kind::request || value == kind::plain) {
      auto subject = std::move(sent_.front().of);
      sent_.pop_front();
      take_request(std::move(subject), std::move(got), value == kind::plain);
    } else {
      take(got);
    }
    if (why_) return;
  }
  // Any reply shows that the server is alive.
  disarm();
  watch();
  in_.events.on_progress(*this);
}

/// Handles the reply to one of the connection's own commands.
void pipeline::take(const reply_ptr& got) {
  const auto first = std::move(sent_.front());
  sent_.pop_front();
  const reply reply(*got);
  switch (first.what) {
    case kind::counting:
      return take_count(first.part, reply);
    case kind::clock:
      return take_clock(reply, first.taken_at);
    case kind::tokens:
      return take_tokens(reply, first.sent_at);
    case kind::wait:
      return take_wait(reply);
    case kind::greeting:
      if (!reply.is_error()) return take_greeting(read_greeting(reply, first.part));
      return take_refusal(failure_of(reply.text()));
    case kind::request:
    case kind::plain:
    case kind::asking:
    case kind::touching:
      return;
  }
}

/// Handles the refusal of a greeting. If the part is on another server, the greeting is sent there.
/// If the server does not serve the part yet (it has just come back, perhaps with older data), the
/// greeting must be repeated before anything else.
void pipeline::take_refusal(const failure& refused) {
  if (refused.code == "MOVED" || refused.code == "ASK") return in_.events.on_astray(*this);
  close(refused);
}

void pipeline::take_request(entry entry, reply_ptr got, bool plain) {
  const reply reply(*got);
  if (plain && reply.is_nil()) return ask_the_script(std::move(entry));
  held_request one{.of = std::move(entry), .got = std::move(got), .plain = plain};
  // A refused request needs no replicas and no count.
  if ((replicas() == 0 && !plain) || reply.is_error()) return conclude(std::move(one));
  held_.push_back(std::move(one));
}

/// The claim without a script was not granted, and the script must decide. Not if the caller may
/// have given up: the caller's release by the claim id would arrive before this claim.
void pipeline::ask_the_script(entry entry) {
  if (base::boot_now() >= entry.of->give_up_at()) {
    const auto after = entry.what->doubtful ? effect::unknown : effect::none;
    entry.what->fail(
        error(errc::store_unreachable, in_.connections.at.name + ": no answer in time", after));
    return in_.events.on_ended(std::move(entry));
  }
  wrote_ = true;
  ++unconfirmed_;
  entry.what->write(outgoing_, calls_, in_.names);
  expect({.what = kind::request, .of = std::move(entry)});
}

void pipeline::take_tokens(const reply& reply, steady_time asked_at) {
  if (reply.is_error()) return in_.tokens.drop();  // scripts make them meanwhile
  in_.tokens.refill(reply.at(0).number<token>(~std::uint64_t{0}), reply.at(1).integer(), asked_at);
}

/// Appended after a batch of claims without scripts and after its count.
void pipeline::take_clock(const reply& reply, std::int64_t taken_at) {
  const auto age =
      reply.is_error() ? milliseconds(-1) : server_time(reply) - milliseconds(taken_at);
  const bool too_old = age < milliseconds(0) || age >= record_stays;
  if (too_old) in_.tokens.drop();
  if (std::exchange(uncounted_, false) || too_old) {
    for (auto& each : std::exchange(held_, {})) {
      if (!each.plain) {
        held_.push_back(std::move(each));
        continue;
      }
      each.of.what->doubtful = true;
      ask_the_script(std::move(each.of));
    }
  }
  if (replicas() == 0) conclude_all();
}

void pipeline::take_count(std::size_t part, const reply& reply) {
  if (reply.is_error()) {
    const auto refused = failure_of(reply.text());
    if (!in_.names.cut()) {
      if (remedy_of(refused) == remedy::reconnect) return close(refused);
      uncounted_ = true;
    } else if (remedy_of(refused) == remedy::redirect) {
      counted_ = false;
      in_.events.on_uncounted(*this, part);
      in_.events.on_astray(*this);
    }
  } else if (!in_.names.cut() || counting_in_ == part) {
    const auto count = static_cast<std::uint64_t>(reply.integer());
    if (replicas() > 0) {
      held_count_ = count;
    } else {
      note_generation(part, count);
    }
  }
}

void pipeline::take_wait(const reply& reply) {
  const auto count = std::exchange(held_count_, {});
  const bool confirmed =
      std::exchange(counted_, true) && reply.is_integer() && reply.integer() >= replicas();
  if (confirmed) {
    // The scripts of this batch were carried out before this write.
    const auto part = counting_in_.value_or(0);
    if (count && *count <= generation_) return note_generation(part, *count);
    conclude_all();
    if (count && !why_) note_generation(part, *count);
    return;
  }
  const auto why = connection_failure("too few replicas have confirmed it");
  for (auto& each : std::exchange(held_, {})) {
    each.of.what->doubtful = true;
    in_.events.on_returned(*this, std::move(each.of), why);
  }
}

void pipeline::conclude_all() {
  concluding_.swap(held_);
  for (auto& each : concluding_) conclude(std::move(each));
  concluding_.clear();
}

void pipeline::conclude(held_request one) {
  auto& subject = one.of;
  const reply reply(*one.got);
  if (reply.is_error()) {
    auto refused = failure_of(reply.text());
    refused.misconfigured = false;  // it was right when the store was opened
    if (remedy_of(refused) == remedy::redirect) {
      return in_.events.on_redirected(*this, std::move(subject), refused);
    }
    if (remedy_of(refused) == remedy::reconnect) {
      sent_.push_front({.what = kind::request, .of = std::move(subject), .not_carried_out = true});
      return close(refused);
    }
    const auto after = subject.what->doubtful ? effect::unknown : effect::none;
    subject.what->fail(to_error(refused, in_.connections.at.name, after));
    return in_.events.on_ended(std::move(subject));
  }
  bool went_back = false;
  try {
    if (one.plain) {
      subject.what->done_plainly();
    } else {
      if (subject.what->carries_generation()) {
        const auto answer = reply.at(1).number<std::uint64_t>(~std::uint64_t{0});
        went_back = answer != 0 && answer <= generation_;
        if (answer != 0) note_generation(0, answer);
      }
      subject.what->arrived(reply);
      if (went_back) subject.what->put_grant_in_doubt(in_.connections.at.name);
    }
  } catch (const unexpected_reply& wrong) {
    const auto why = connection_failure(wrong.what());
    subject.what->fail(to_error(why, in_.connections.at.name, effect::unknown));
    close(why);
  }
  in_.events.on_ended(std::move(subject));
}

void pipeline::note_generation(std::size_t part, std::uint64_t number) {
  if (number <= generation_) {
    // The data went back during this connection. A new greeting finds out what was lost.
    close(connection_failure("the server's data is older than it was"));
  } else {
    in_.events.on_generation(part, run_, number);
  }
  generation_ = number;
}

}  // namespace onceguard::redis
