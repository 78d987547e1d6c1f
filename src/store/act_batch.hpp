// The way of a batch of acts (claims, settles …), in stores whose servers are out of process: what
// all of them ask for next goes out together, until each has its outcome.
//
// An act has `begin()` and `take(request done)`, which give its next request, or none: it has
// ended, and has an `outcome`.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "core/record_id_hash.hpp"

namespace onceguard {

/// Of acts on the same record.
enum class act_order : std::uint8_t {
  together,    ///< the servers carry requests out in the order of their arrival
  one_by_one,  ///< they don't: an act begins when the one before it has ended
};

/// Times that a caller gives are bounded to some 3,000 years: sums of them stay far from overflow.
template <class... Length>
void bound_times(Length&... lengths) {
  constexpr milliseconds most{100'000'000'000'000};
  ((lengths = std::clamp(lengths, milliseconds(0), most)), ...);
}

/// For each act, the next one on its record; its own position: it is the last one.
template <class Act>
[[nodiscard]] std::vector<std::size_t> followers_of(const std::vector<Act>& acts) {
  std::vector<std::size_t> out(acts.size());
  std::unordered_map<record_id, std::size_t, record_id_hash> last;
  for (std::size_t i = 0; i < acts.size(); ++i) {
    out[i] = i;
    const auto [found, is_new] = last.try_emplace(acts[i].id(), i);
    if (!is_new) out[std::exchange(found->second, i)] = i;
  }
  return out;
}

/// `Send`: the requests to send → an awaitable of the same requests, with what became of each.
template <class Act, class Send>
boost::asio::awaitable<void> carry_out_acts(std::vector<Act>& acts, Send send, act_order order) {
  using request = typename decltype(std::declval<Act&>().begin())::value_type;
  std::vector<std::size_t> open;  // the acts that the requests belong to
  std::vector<request> requests;
  const auto followers =
      order == act_order::one_by_one ? followers_of(acts) : std::vector<std::size_t>();
  const auto go_on = [&](std::size_t which, std::optional<request> next) {
    while (!next) {
      const auto follower = followers.empty() ? which : followers[which];
      if (follower == which) return;
      which = follower;
      next = acts[which].begin();
    }
    open.push_back(which);
    requests.push_back(std::move(*next));
  };
  std::vector<bool> follows(acts.size());
  for (std::size_t i = 0; i < followers.size(); ++i) {
    if (followers[i] != i) follows[followers[i]] = true;
  }
  for (std::size_t i = 0; i < acts.size(); ++i) {
    if (!follows[i]) go_on(i, acts[i].begin());
  }
  while (!requests.empty()) {
    auto sent = std::exchange(requests, {});
    auto done = co_await send(std::move(sent));
    const auto answered = std::exchange(open, {});
    for (std::size_t i = 0; i < answered.size(); ++i) {
      go_on(answered[i], acts[answered[i]].take(std::move(done[i])));
    }
  }
}

/// The acts of a batch, in its order.
template <class Act, class Context>
[[nodiscard]] std::vector<Act> acts_of(std::vector<typename Act::item_type> batch,
                                       Context&& context) {
  std::vector<Act> out;
  out.reserve(batch.size());
  for (auto& each : batch) out.emplace_back(std::move(each), context);
  return out;
}

template <class Act>
[[nodiscard]] std::vector<result<typename Act::outcome_type>> outcomes_of(std::vector<Act>& acts) {
  std::vector<result<typename Act::outcome_type>> out;
  out.reserve(acts.size());
  for (auto& each : acts) out.push_back(std::move(*each.outcome));
  return out;
}

}  // namespace onceguard
