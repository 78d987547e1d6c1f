#include "store/redis/topology/cluster_text.hpp"

#include "store/redis/commands/keyspace.hpp"

namespace onceguard::redis {
namespace {

/// Removes and returns the text before the next `mark`, or all of the text.
std::string_view next_word(std::string_view& text, char mark = ' ') {
  const auto end = text.find(mark);
  const auto out = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return out;
}

bool has_flag(std::string_view flags, std::string_view flag) {
  while (!flags.empty()) {
    if (next_word(flags, ',') == flag) return true;
  }
  return false;
}

/// "5", "0-16383", "[93->-ID]", "[93-<-ID]"
void read_slot_word(node_entry& entry, std::string_view word) {
  if (word.starts_with('[')) {
    word.remove_prefix(1);
    const auto arrow = word.find("->-");
    if (arrow == word.npos || !word.ends_with(']')) return;
    const auto slot = number_in<std::uint16_t>(word.substr(0, arrow));
    word.remove_prefix(arrow + 3);
    if (slot) entry.leaving.push_back({*slot, std::string(word.substr(0, word.size() - 1))});
    return;
  }
  const auto first = number_in<std::uint16_t>(next_word(word, '-'));
  if (!first) return;
  const auto last = word.empty() ? first : number_in<std::uint16_t>(word);
  if (last) entry.slots.emplace_back(*first, *last);
}

}  // namespace

std::vector<slot_range> read_slots(const reply& reply, const endpoint& endpoint) {
  std::vector<slot_range> out;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const auto range = reply.at(i);
    const auto master = range.at(2);
    slot_range one;
    one.first = range.at(0).number<std::uint16_t>(slot_count - 1);
    one.last = range.at(1).number<std::uint16_t>(slot_count - 1);
    const auto host = master.at(0);
    // Redis, CLUSTER SLOTS: NULL stands for the address that was asked, "?" for a host name that is
    // not configured.
    one.endpoint.host =
        host.is_nil() || host.text().empty() ? endpoint.host : std::string(host.text());
    if (one.endpoint.host == "?") continue;
    one.endpoint.port = std::to_string(master.at(1).number<std::uint16_t>(65'535));
    one.id = master.at(2).text();
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<node_entry> read_nodes(std::string_view text) {
  std::vector<node_entry> out;
  while (!text.empty()) {
    auto rest = next_word(text, '\n');
    node_entry one;
    one.id = next_word(rest);
    next_word(rest);  // the address
    const auto flags = next_word(rest);
    for (int skipped = 0; skipped < 3; ++skipped) next_word(rest);
    const auto epoch = number_in<std::uint64_t>(next_word(rest));
    if (!epoch) continue;
    next_word(rest);  // the state of the nodes' own connection
    one.myself = has_flag(flags, "myself");
    // "fail?" is the suspicion of the node that was asked, "fail" what the majority has found.
    one.master = has_flag(flags, "master") && !has_flag(flags, "fail");
    one.epoch = *epoch;
    while (!rest.empty()) read_slot_word(one, next_word(rest));
    out.push_back(std::move(one));
  }
  return out;
}

std::optional<endpoint> target_of(const failure& redirected, const endpoint& address) {
  std::string_view text = redirected.text;
  next_word(text);  // MOVED, ASK
  next_word(text);  // the slot
  const auto where = next_word(text);
  const auto colon = where.rfind(':');
  if (colon == where.npos) return std::nullopt;
  endpoint out{std::string(where.substr(0, colon)), std::string(where.substr(colon + 1))};
  if (out.host.empty()) out.host = address.host;
  if (out.host == "?" || number_in<std::uint16_t>(out.port).value_or(0) == 0) return std::nullopt;
  return out;
}

}  // namespace onceguard::redis
