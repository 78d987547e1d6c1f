#include "calls_in_doubt.hpp"

#include <algorithm>

namespace onceguard::sim {
namespace {

const record_id& id_of(const calls_in_doubt::call& failed) {
  return std::visit([](const auto& each) -> const record_id& { return each.id; }, failed);
}

/// Is its outcome unknown from now on?
bool is_over(const record_view& found) noexcept {
  return found.stored.state == record_state::in_progress && found.lease_left.count() <= 0;
}

bool was_done(const claim& request, const record_view& found, token noted) {
  return found.stored.claim_id == request.claim_id && found.stored.token > noted;
}

bool was_done(const settlement& request, const record_view& found, token noted) {
  const auto& stored = found.stored;
  const bool named =
      request.token != 0 ? request.token == stored.token : request.claim_id == stored.claim_id;
  // A claim of the same group got the next lease.
  if (!named) return request.token != 0 && request.token == noted && stored.token > noted;
  switch (request.kind) {
    case settle_kind::complete:
      return stored.state == record_state::completed;
    case settle_kind::fail:
      return stored.state == record_state::failed;
    case settle_kind::release:
      return stored.state == record_state::released || (stored.earlier_unknown && is_over(found));
    case settle_kind::abandon:
      return stored.state == record_state::released || is_over(found);
  }
  return false;
}

bool was_done(const extension& request, const record_view& found, token /*noted*/) {
  if (request.token != found.stored.token) return false;
  if (request.dispatch) return found.stored.state == record_state::in_progress;
  return found.lease_left.count() > 0;
}

bool was_done(const resolution& request, const record_view& found, token /*noted*/) {
  const auto end = request.completed ? record_state::completed : record_state::released;
  return request.token == found.stored.token && found.stored.state == end;
}

}  // namespace

std::vector<record_id> calls_in_doubt::records() const {
  std::vector<record_id> out;
  for (const auto& each : calls_) out.push_back(id_of(each));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<calls_in_doubt::call> calls_in_doubt::carried_out(const record_view& found,
                                                              token noted) const {
  std::vector<call> out;
  for (const auto& each : calls_) {
    if (id_of(each) != found.id) continue;
    const auto fits = [&](const auto& request) { return was_done(request, found, noted); };
    if (std::visit(fits, each)) out.push_back(each);
  }
  return out;
}

}  // namespace onceguard::sim
