#include "messaging/redis_streams/stream_consumer.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <unistd.h>

#include "base/hex.hpp"
#include "base/random.hpp"
#include "messaging/redis_streams/scripts.hpp"
#include "messaging/redis_streams/wire_message.hpp"

namespace onceguard::messaging::redis_streams {
namespace {

/// How many pending entries one step of a pass examines: a step blocks the server.
constexpr int pass_step = 200;
/// A killed consumer's name is forgotten after so many holds.
constexpr int holds_to_forget = 10;

std::string name_prefix(const broker_params& params) { return params.name + '.'; }

/// Differs from that of each other consumer.
std::string unique_name(const broker_params& params) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::array<unsigned char, 6> suffix{};
  base::random_bytes(suffix);
  return name_prefix(params) + host.data() + '.' + std::to_string(::getpid()) + '.' +
         base::to_hex(suffix);
}

consumer_traits traits_of(const stream_settings& settings) {
  consumer_traits out;
  out.hold = settings.hold;
  out.delays = true;
  out.counts = true;
  return out;
}

std::uint32_t count_of(std::int64_t counter) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(counter, 1, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

stream_consumer::stream_consumer(const stream_settings& settings, const broker_params& params)
    : holding_consumer(params.in_flight),
      settings_(settings),
      stream_(settings_.where.stream),
      consumer_(settings.consumer.empty() ? unique_name(params) : settings.consumer),
      traits_(traits_of(settings)),
      connection_(settings.where, params.timeout) {
  if (consumer_.starts_with(reserved_prefix)) {
    throw failed{error(errc::invalid_argument, "names of consumers that begin with " +
                                                   std::string(reserved_prefix) + " are reserved")};
  }
  if (settings_.create) {
    // "0", not "$": what was added before the group was made is to be handled, too.
    const command creation{"XGROUP", "CREATE", stream_, settings_.group, "0", "MKSTREAM"};
    const auto got = std::move(connection_.ask_all({&creation, 1}).front());
    const bool exists =
        got->type == REDIS_REPLY_ERROR && std::string_view(got->str).starts_with("BUSYGROUP");
    if (!exists) connection_.check(*got);
  }
  auto question = script(join_script);
  question.add(name_prefix(params)).add(settings_.hold.count() * holds_to_forget);
  static_cast<void>(connection_.ask(question));
}

stream_consumer::~stream_consumer() {
  if (!connection_.usable()) return;
  auto question = script(leave_script);
  question.add(consumer_).add(settings_.hold.count());
  for (const auto& [tag, held] : all_held()) {
    question.add(held.receipt.id).add(held.receipt.count);
  }
  // Where it fails, the holds end by themselves.
  static_cast<void>(caught([&] { static_cast<void>(connection_.ask(question)); }));
}

// --- receiving ----------------------------------------------------------------------------------

void stream_consumer::catch_up() {
  if (!connection_.usable()) static_cast<void>(connection_.ask({"PING"}));  // says that it broke
}

std::vector<delivery> stream_consumer::fetch(std::size_t most, moment until) {
  std::vector<delivery> out;
  while (true) {
    const auto room = room_for(most);
    if (room == 0) {
      connection_.wait(until);
      static_cast<void>(connection_.ask({"PING"}));
      return out;
    }
    take_due(out, room);
    if (out.size() < room) take_abandoned(out, room - out.size());
    if (out.size() < room) {
      read_new(out, room - out.size(), out.empty() ? block_until(until) : milliseconds(0));
    }
    if (!out.empty() || base::boot_now() >= until) return out;
  }
}

void stream_consumer::take_due(std::vector<delivery>& out, std::size_t most) {
  const auto now = base::boot_now();
  auto question = script(take_script);
  question.add(consumer_).add(settings_.hold.count()).add(most).add("");
  std::size_t count = 0;
  // One that is not free yet, because the server's clock was set back, is found by a later pass.
  for (auto i = due_.begin(); i != due_.end() && i->first <= now && count < most; ++count) {
    question.add(i->second);
    i = due_.erase(i);
  }
  if (count > 0) static_cast<void>(take(out, question));
}

void stream_consumer::take_abandoned(std::vector<delivery>& out, std::size_t most) {
  if (cursor_.empty()) {
    const auto now = base::boot_now();
    if (now < next_pass_) return;
    next_pass_ = now + settings_.hold / 2;
    cursor_ = "-";
  }
  auto question = script(take_script);
  question.add(consumer_).add(settings_.hold.count()).add(most).add(cursor_).add(pass_step);
  cursor_ = take(out, question);
}

std::string stream_consumer::take(std::vector<delivery>& out, const command& question) {
  const auto got = connection_.ask(question);
  const reply rows = reply(*got).at(1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = rows.at(i);
    const auto id = row.at(0).text();
    // Of an entry that was this consumer's before, the former delivery is over.
    std::erase_if(all_held(), [&](const auto& each) { return each.second.receipt.id == id; });
    out.push_back(deliver(id, count_of(row.at(1).integer()), row.at(2)));
  }
  return std::string(reply(*got).at(0).text());
}

void stream_consumer::read_new(std::vector<delivery>& out, std::size_t most, milliseconds block) {
  constexpr std::size_t most_at_once = 10'000;
  command question{"XREADGROUP", "GROUP", settings_.group, consumer_, "COUNT"};
  question.add(std::min(most, most_at_once));
  // A block of 0 would have no end.
  if (block.count() > 0) question.add("BLOCK").add(block.count());
  question.add("STREAMS").add(stream_).add(">");
  const auto got = connection_.ask(question);
  const reply streams(*got);
  if (streams.is_nil()) return;
  const auto entries = streams.at(0).at(1);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto entry = entries.at(i);
    out.push_back(deliver(entry.at(0).text(), 1, entry.at(1)));
  }
}

milliseconds stream_consumer::block_until(moment until) const {
  if (!cursor_.empty()) return milliseconds(0);
  auto end = std::min(until, next_pass_);
  if (!due_.empty()) end = std::min(end, due_.begin()->first);
  const auto left = std::chrono::ceil<milliseconds>(end - base::boot_now());
  // The answer must come within the connection's timeout.
  const auto most = std::max(connection_.timeout() / 2, milliseconds(1));
  return std::clamp(left, milliseconds(0), most);
}

delivery stream_consumer::deliver(std::string_view id, std::uint32_t count, const reply& fields) {
  delivery out;
  out.count = count;
  out.received = message_of(id, fields);
  out.tag = hold({std::string(id), count}, base::boot_now() + settings_.hold);
  return out;
}

// --- settling -----------------------------------------------------------------------------------

command stream_consumer::script(std::string_view text) const {
  return {"EVAL", text, "1", stream_, settings_.group};
}

std::int64_t stream_consumer::settle(const entry_receipt& receipt,
                                     std::initializer_list<std::string_view> question) {
  const auto lost = [&](std::string_view why) { throw failed{refusal(errc::not_found, why)}; };
  auto words = script(settle_script);
  words.add(consumer_).add(receipt.id).add(receipt.count);
  for (const auto word : question) words.add(word);
  const auto got = connection_.ask(words);
  const auto number = reply(*got).integer();
  if (number == not_held) lost("another consumer has taken the message over");
  if (number == entry_deleted) lost("the message was deleted from the stream");
  return number;
}

stream_consumer::moment stream_consumer::prolong(entry_receipt& receipt, moment /*end*/) {
  settle(receipt, {"extend"});
  return base::boot_now() + settings_.hold;
}

void stream_consumer::confirm(std::uint64_t /*tag*/, entry_receipt& receipt) {
  settle(receipt, {"acknowledge"});
}

void stream_consumer::put_back(std::uint64_t /*tag*/, entry_receipt& receipt, milliseconds delay) {
  const auto until = settle(receipt, {"give_back", std::to_string(settings_.hold.count()),
                                      std::to_string(delay.count())});
  due_.emplace(base::boot_now() + milliseconds(until), std::move(receipt.id));
}

error stream_consumer::refusal(errc code, std::string_view words) const {
  return {code, connection_.name() + ": " + std::string(words)};
}

std::optional<std::uint64_t> stream_consumer::count_waiting() {
  const auto got = connection_.ask({"XINFO", "GROUPS", stream_});
  const reply groups(*got);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto group = groups.at(i);
    std::optional<std::uint64_t> pending, lag;
    bool ours = false;
    for (std::size_t j = 0; j + 1 < group.size(); j += 2) {
      const auto field = group.at(j).text();
      const auto value = group.at(j + 1);
      if (field == "name") ours = value.text() == settings_.group;
      if (field == "pending") pending = static_cast<std::uint64_t>(value.integer());
      if (field == "lag" && value.is_integer()) lag = static_cast<std::uint64_t>(value.integer());
    }
    if (ours) return pending && lag ? std::optional(*pending + *lag) : std::nullopt;
  }
  throw failed{refusal(errc::not_found, "there is no such group")};
}

}  // namespace onceguard::messaging::redis_streams
