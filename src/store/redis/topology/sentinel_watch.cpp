#include "store/redis/topology/sentinel_watch.hpp"

#include <algorithm>

#include <boost/asio/co_spawn.hpp>

#include "base/clock.hpp"
#include "base/rethrow.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;
using std::chrono::milliseconds;

constexpr milliseconds sentinel_pause{1'000};        // between two polls
constexpr milliseconds sentinel_pause_in_doubt{20};  // at least, between two polls
constexpr milliseconds for_others{200};  // after the first answer, until it counts alone
constexpr milliseconds sentinel_patience{1'000};
constexpr std::size_t pollers_most = 32;

/// The value of a name in a list of names and values. Empty: there is no such name.
std::string value_in(const reply& pairs, std::string_view name) {
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (pairs.at(i).text() == name) return std::string(pairs.at(i + 1).text());
  }
  return {};
}

}  // namespace

sentinel_watch::sentinel_watch(const connection_context& connection_context,
                               const redis_params& params, topology_events& events)
    : topology(connection_context, params, events, sentinel_pause_in_doubt) {
  for (const auto& each : connection_context.address.seeds) meet(each);
}

void sentinel_watch::meet(const endpoint& sentinel) {
  if (pollers_.size() >= pollers_most) return;
  const auto patience = std::min(params_.timeout, sentinel_patience);
  pollers_.try_emplace(sentinel, context_, sentinel, context_.address.sentinel_login, patience);
}

void sentinel_watch::ask_all() {
  timer_.cancel();
  distrusted_ = false;
  begun_ = base::boot_now();
  const auto round = now_.round + 1;
  now_ = {};
  now_.round = round;
  for (auto& [endpoint, each] : pollers_) {
    if (each.busy()) continue;
    ++now_.open;
    boost::asio::co_spawn(context_.context, ask(each, round), base::rethrow);
  }
  if (now_.open == 0) wait(sentinel_pause_in_doubt);
}

awaitable<void> sentinel_watch::ask(topology_poller& sentinel, std::uint64_t round) {
  std::vector<std::string> commands{
      words("SENTINEL", "GET-MASTER-ADDR-BY-NAME", context_.address.master),
      words("SENTINEL", "MASTER", context_.address.master),
      words("SENTINEL", "SENTINELS", context_.address.master)};
  const auto counts = [&] { return !closed_ && round == now_.round && now_.open > 0; };
  std::optional<failure> why;
  try {
    const auto replies = co_await sentinel.ask(std::move(commands));
    if (counts()) read(replies);
  } catch (const broken& wrong) {
    why = wrong.why;
  }
  if (!counts()) co_return;
  --now_.open;
  if (why) now_.why = std::move(why);
  if (now_.open == 0) co_return decide();
  if (now_.master) wait(for_others);
}

void sentinel_watch::read(const std::vector<reply_ptr>& replies) {
  const reply where(*replies.at(0));
  const reply answer(*replies.at(1));
  if (answer.is_error()) {
    auto why = failure_of(answer.text());
    const bool stranger = answer.text().starts_with("ERR No such master");
    if (stranger) why.text = "the sentinels know no master named " + context_.address.master;
    why.misconfigured = why.misconfigured || stranger;
    throw broken{why};
  }
  if (!where.is_array())
    throw broken{connection_failure("the sentinel knows no address of the master")};
  const endpoint endpoint{std::string(where.at(0).text()), std::string(where.at(1).text())};
  const auto epoch = number_in<std::uint64_t>(value_in(answer, "config-epoch")).value_or(0);
  ++now_.answered;
  if (!now_.master || epoch > now_.epoch) {
    now_.master = endpoint;
    now_.epoch = epoch;
  }
  const reply others(*replies.at(2));
  for (std::size_t i = 0; !others.is_error() && i < others.size(); ++i) {
    meet({value_in(others.at(i), "ip"), value_in(others.at(i), "port")});
  }
}

/// Decides by the answers of this round. Later answers don't count.
void sentinel_watch::decide() {
  now_.open = 0;
  if (!now_.master) {
    wait(sentinel_pause_in_doubt * 2);
    return events_.on_no_layout(now_.why.value_or(
        connection_failure("no sentinel has answered which server is the master")));
  }
  // A sentinel that was partitioned knows an earlier failover only. After SENTINEL RESET most
  // sentinels do. A failover needs the majority of the sentinels, so one of the majority would know
  // a later failover.
  if (now_.epoch < latest_ && 2 * now_.answered <= pollers_.size()) {
    wait(sentinel_pause_in_doubt * 2);
    return events_.on_no_layout(
        connection_failure("the sentinels that answer do not know of the latest failover"));
  }
  latest_ = now_.epoch;
  wait(rest(sentinel_pause));
  vouched_ = begun_;
  layout found;
  found.masters.push_back({*now_.master, {}});
  found.owner.emplace_back(0);
  events_.on_layout(found);
}

}  // namespace onceguard::redis
