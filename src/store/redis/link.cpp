#include "store/redis/link.hpp"

#include <boost/asio/co_spawn.hpp>

#include "base/hash.hpp"
#include "store/redis/command.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

/// Thrown by what sets a connection up, and caught where it lives.
struct broken {
  failure why;
};

[[noreturn]] void give_up(std::string why) { throw broken{own_failure(std::move(why))}; }

/// Not as a list in braces: the compiler can't keep one across a suspension.
template <class... Word>
std::string words(const Word&... each) {
  std::string out;
  append_command(out, {std::string_view(each)...});
  return out;
}

std::string auth_command(const address& at) {
  return at.user.empty() ? words("AUTH", at.password) : words("AUTH", at.user, at.password);
}

std::string select_command(const address& at) { return words("SELECT", decimal(at.database)); }

bool not_permitted(const reply& said) {
  return said.is_error() && failure_of(said.text()).code == "NOPERM";
}

/// The text of a reply; an error is thrown.
std::string text_in(const reply_ptr& got) {
  const reply said(*got);
  if (said.is_error()) throw broken{failure_of(said.text())};
  return std::string(said.text());
}

/// Did a script of this version greet? Another text of the same name is replaced.
bool is_current(const reply& said) {
  if (said.is_error()) return failure_of(said.text()).code != "NOSCRIPT";
  const auto digest = said.at(4).text();
  return digest.empty() || digest == library_digest();
}

/// Of coroutines that end by themselves and throw nothing.
void report(std::exception_ptr thrown) {
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace

// --- its life -------------------------------------------------------------------------------

void link::open() {
  phase_ = phase::opening;
  why_.reset();
  generation_ = 0;
  socket_.emplace(in_.context, in_.at, in_.tls);
  reader_.reset(redisReaderCreate());
  arm(base::watchdog::of(in_.context), in_.params.timeout);
  ++running_;
  boost::asio::co_spawn(in_.context, live(), report);
}

awaitable<void> link::live() {
  try {
    co_await set_up();
    if (why_) throw broken{*why_};
    disarm();
    phase_ = phase::ready;
    in_.events.on_ready(*this);
    while (co_await receive() > 0) take_replies();
  } catch (const broken& wrong) {
    close(wrong.why);
  } catch (const unexpected_reply& wrong) {
    close(own_failure(wrong.what()));
  }
  close(own_failure("the connection broke"));
  --running_;
  return_all();
}

void link::close(failure why) {
  if (!why_) why_ = std::move(why);
  disarm();
  if (socket_) socket_->close();
}

void link::expired() {
  close(own_failure(phase_ == phase::ready ? "the server did not answer in time"
                                           : "the connection was not made in time"));
}

/// Once neither reading nor writing goes on: what was on its way is of unknown fate.
void link::return_all() {
  if (running_ > 0) return;
  phase_ = phase::closed;
  auto sent = std::exchange(sent_, {});
  auto held = std::exchange(held_, {});
  unconfirmed_ = 0;
  outgoing_.clear();
  // From the last to the first: each goes to the front of those that wait.
  const auto back = [&](entry& of, bool undone) {
    if (!of.of) return;
    of.what->doubtful = of.what->doubtful || !undone;
    in_.events.on_returned(*this, std::move(of), *why_);
  };
  for (auto each = sent.rbegin(); each != sent.rend(); ++each) back(each->of, each->undone);
  for (auto each = held.rbegin(); each != held.rend(); ++each) back(each->first, false);
  in_.events.on_lost(*this, *why_);
}

// --- sending --------------------------------------------------------------------------------

std::size_t link::room() const noexcept {
  if (!ready() || why_) return 0;
  const auto taken = sent_.size() + held_.size();
  return taken < in_.params.under_way_max ? in_.params.under_way_max - taken : 0;
}

void link::send(entry what) {
  what.what->write(outgoing_, calls_, in_.names);
  sent_.push_back({std::move(what), false, false});
  ++unconfirmed_;
}

void link::flush() {
  if (why_) return;
  if (unconfirmed_ > 0 && in_.at.min_replicas > 0) {
    // Behind a write of its own, so that it also waits for what others wrote and these only read.
    append_command(outgoing_, {"INCR", in_.names.touch()});
    append_command(outgoing_, {"WAIT", decimal(in_.at.min_replicas),
                               decimal(std::max<std::int64_t>(in_.params.timeout.count() / 2, 1))});
    sent_.push_back({{}, false, false});
    sent_.push_back({{}, true, false});
  }
  unconfirmed_ = 0;
  if (!sent_.empty() && !armed()) {
    arm(base::watchdog::of(in_.context), in_.params.timeout + in_.params.timeout / 4);
  }
  if (outgoing_.empty() || !writing_.empty()) return;
  writing_.swap(outgoing_);
  ++running_;
  boost::asio::co_spawn(in_.context, write_all(), report);
}

awaitable<void> link::write_all() {
  while (!writing_.empty()) {
    const auto ec = co_await socket_->write(writing_);
    writing_.clear();
    if (ec) {
      close(own_failure("writing: " + ec.message()));
      break;
    }
    writing_.swap(outgoing_);
  }
  if (--running_ == 0) return_all();
}

// --- replies --------------------------------------------------------------------------------

awaitable<std::size_t> link::receive() {
  boost::system::error_code ec;
  const auto got = co_await socket_->read(boost::asio::buffer(buffer_), ec);
  if (ec)
    give_up(ec == boost::asio::error::eof ? "the server closed the connection" : ec.message());
  if (redisReaderFeed(reader_.get(), buffer_.data(), got) != REDIS_OK) give_up(reader_->errstr);
  co_return got;
}

/// Null: not all of it has come yet.
reply_ptr link::next_reply() {
  void* got = nullptr;
  if (redisReaderGetReply(reader_.get(), &got) != REDIS_OK) give_up(reader_->errstr);
  return reply_ptr(static_cast<redisReply*>(got));
}

void link::take_replies() {
  while (auto got = next_reply()) {
    take(std::move(got));
    if (why_) return;
  }
  // Whatever comes is a sign of life.
  disarm();
  if (!sent_.empty()) {
    arm(base::watchdog::of(in_.context), in_.params.timeout + in_.params.timeout / 4);
  }
  in_.events.on_progress(*this);
}

void link::take(reply_ptr got) {
  if (sent_.empty()) throw unexpected_reply("a reply that nobody asked for");
  const auto first = std::move(sent_.front());
  sent_.pop_front();
  if (first.wait) return take_wait(reply(*got));
  if (!first.of.of) return;  // the write before a WAIT
  if (in_.at.min_replicas > 0) {
    held_.emplace_back(first.of, std::move(got));
  } else {
    conclude(first.of, std::move(got));
  }
}

void link::take_wait(const reply& said) {
  auto held = std::exchange(held_, {});
  const bool confirmed =
      said.is_integer() && said.integer() >= static_cast<std::int64_t>(in_.at.min_replicas);
  const auto why = own_failure("too few replicas have confirmed it");
  for (auto& [of, got] : held) {
    if (confirmed) {
      conclude(std::move(of), std::move(got));
    } else {
      of.what->doubtful = true;
    }
  }
  if (confirmed) return;
  for (auto each = held.rbegin(); each != held.rend(); ++each) {
    in_.events.on_returned(*this, std::move(each->first), why);
  }
}

void link::conclude(entry of, reply_ptr got) {
  const reply said(*got);
  if (said.is_error()) {
    auto refused = failure_of(said.text());
    refused.misconfigured = false;  // it was right when the store was opened
    if (remedy_of(refused) == remedy::reconnect) {
      sent_.push_front({std::move(of), false, true});
      return close(refused);
    }
    const auto after = of.what->doubtful ? effect::unknown : effect::none;
    of.what->fail(to_error(refused, in_.at.place, after));
    return in_.events.on_ended(std::move(of));
  }
  try {
    if (of.what->tells_generation()) note_generation(said);
    of.what->arrived(said);
  } catch (const unexpected_reply& wrong) {
    const auto why = own_failure(wrong.what());
    of.what->fail(to_error(why, in_.at.place, effect::unknown));
    close(why);
  }
  in_.events.on_ended(std::move(of));
}

void link::note_generation(const reply& said) {
  const auto told = said.at(1).number<std::uint64_t>(~std::uint64_t{0});
  if (told == 0) return;
  if (told <= generation_) {
    // The data went back under this connection: greeting it once more tells what that means.
    close(own_failure("the server's data is older than it was"));
  } else {
    in_.events.on_generation(told);
  }
  generation_ = told;
}

// --- setting up -----------------------------------------------------------------------------

awaitable<void> link::set_up() {
  if (const auto ec = co_await socket_->connect()) give_up(ec.message());
  co_await log_in();
  const auto facts = co_await ask_facts();
  if (const auto wrong = objection_to(facts)) throw broken{*wrong};
  calls_ = {};
  calls_.functions = facts.functions && in_.at.functions;
  if (!calls_.functions) co_await load_scripts();
  const auto said = co_await greet(facts);
  generation_ = said.generation;
  in_.events.on_greeting(said);
}

awaitable<reply_ptr> link::ask(std::string command) {
  if (why_) throw broken{*why_};
  if (const auto ec = co_await socket_->write(command)) give_up(ec.message());
  auto got = next_reply();
  while (!got) {
    co_await receive();
    got = next_reply();
  }
  co_return got;
}

awaitable<void> link::log_in() {
  if (!in_.at.password.empty() || !in_.at.user.empty()) text_in(co_await ask(auth_command(in_.at)));
  text_in(co_await ask(select_command(in_.at)));
  // For who looks at the server's list of clients; not all users may.
  co_await ask(words("CLIENT", "SETNAME", "onceguard"));
}

awaitable<server_facts> link::ask_facts() {
  server_facts out;
  const auto info = co_await ask(words("INFO"));
  if (!not_permitted(reply(*info))) out = read_info(text_in(info));
  if (auto value = co_await ask_setting("appendonly")) out.append_only = std::move(*value);
  if (auto value = co_await ask_setting("appendfsync")) out.flushes = std::move(*value);
  out.snapshots = co_await ask_setting("save");
  co_return out;
}

awaitable<std::optional<std::string>> link::ask_setting(const char* name) {
  const auto got = co_await ask(words("CONFIG", "GET", name));
  const reply said(*got);
  if (!said.is_array() || said.size() < 2) co_return std::nullopt;
  co_return std::string(said.at(1).text());
}

/// The functions, or each script on its own.
awaitable<void> link::load_scripts() {
  if (calls_.functions) {
    text_in(co_await ask(words("FUNCTION", "LOAD", "REPLACE", library_text())));
    co_return;
  }
  for (std::size_t i = 0; i < script_count; ++i) {
    const auto text = script_text(static_cast<script>(i));
    calls_.digests[i] = text_in(co_await ask(words("SCRIPT", "LOAD", text)));
  }
}

std::string link::greeting_command(const server_facts& facts) const {
  std::array<unsigned char, 16> random{};
  base::random_bytes(random);
  const auto& known = in_.events.known();
  std::string out;
  append_call(
      out, calls_, script::greet, {in_.names.store(), in_.names.tokens(), in_.names.generation()},
      {base::to_hex(random), facts.run, known.identity, known.run, decimal(known.generation)});
  return out;
}

awaitable<greeting> link::greet(const server_facts& facts) {
  greeting out;
  out.facts = facts;
  auto got = co_await ask(greeting_command(facts));
  if (!is_current(reply(*got))) {
    co_await load_scripts();
    got = co_await ask(greeting_command(facts));
  }
  const reply said(*got);
  if (said.is_error()) throw broken{failure_of(said.text())};
  out.identity = said.at(0).text();
  out.generation = said.at(1).number<std::uint64_t>(~std::uint64_t{0});
  out.now = said.at(2).integer();
  out.lost = said.at(3).integer() != 0;
  co_return out;
}

}  // namespace onceguard::redis
