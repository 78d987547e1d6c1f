#include "messaging/inbox/batch_plan.hpp"

#include <unordered_map>

#include <onceguard/key.hpp>

#include "messaging/inbox/inbox_outcome.hpp"

namespace onceguard::messaging {
namespace {

inbox_outcome ask_again() {
  inbox_outcome out;
  out.retry_after = milliseconds(1);
  return out;
}

}  // namespace

batch_plan::batch_plan(std::span<const inbox_message> batch, const inbox_policy& policy)
    : outcomes(batch.size()), compare_(policy.compare_payloads) {
  std::unordered_map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto& id = batch[i].id;
    if (id.empty() || id.size() > key_size_max) {
      outcomes[i] = dead(fault_of_id(id));
    }
    const auto [found, fresh] = seen.try_emplace(id, i);
    first.push_back(found->second);
    if (fresh && !outcomes[i]) to_claim.push_back(i);
  }
}

std::vector<inbox_outcome> batch_plan::finish(std::span<const inbox_message> batch) && {
  std::vector<inbox_outcome> out;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    auto& outcome = outcomes[i];
    if (!outcome) {
      const auto& twin = out[first[i]];
      const bool same = !compare_ || batch[i].payload == batch[first[i]].payload;
      outcome = same ? twin : reused();
      // The record knows neither payload of the two as its own, or this one: it has to be asked.
      if (!same && twin.kind == inbox_result::reused) outcome = ask_again();
      if (outcome->kind == inbox_result::handled) outcome->kind = inbox_result::duplicate;
    }
    out.push_back(std::move(*outcome));
  }
  return out;
}

inbox_outcome unreadable(std::string why, const inbox_policy& policy) {
  inbox_outcome out;
  out.kind = inbox_result::failed;
  out.retry_after = policy.backoff_max;
  out.reason = std::move(why);
  return out;
}

}  // namespace onceguard::messaging
