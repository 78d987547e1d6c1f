#include "cli/trial/explained_record.hpp"

#include <utility>

#include <onceguard/decide.hpp>

#include "base/clock.hpp"

namespace onceguard::cli::trial {

using boost::asio::awaitable;

namespace {

bool is_alive(const explained_record& seen) {
  return seen.current && seen.current->state != observed_state::released;
}

awaitable<explained_record> find_one(const config::settings& settings, record_access& records,
                                     record_id id) {
  explained_record seen;
  auto found = co_await records.find(id, settings.store.timeout);
  if (found) {
    seen.current = std::move(*found);
  } else {
    seen.note = found.error().detail;
  }
  co_return seen;
}

awaitable<explained_record> find_any(const config::settings& settings, record_access& records,
                                     explanation& reply) {
  for (const auto& [id, kind] : reply.former) {
    auto seen = co_await find_one(settings, records, id);
    if (!is_alive(seen) && seen.note.empty()) continue;
    if (is_alive(seen)) {
      reply.warnings.push_back("its record stands under a former scope: " + kind);
    }
    co_return seen;
  }
  co_return co_await find_one(settings, records, reply.id);
}

/// The record as the store would hand it to the state machine, at the moment 0 of its clock.
record stored_now(const record_view& seen) {
  auto out = seen.stored;
  out.deadline_lease = seen.lease_left.count();
  out.retry_at_lease = seen.retry_after.count();
  out.expires_at_wall = 0;  // it was found: it is not expired
  return out;
}

std::string_view name_of(const decision& decided) {
  switch (decided.verdict.kind) {
    case verdict_kind::run:
      return decided.verdict.lease.probe ? "probe" : "run";
    case verdict_kind::replay:
      return "replay";
    case verdict_kind::busy:
      return "busy";
    case verdict_kind::mismatch:
    case verdict_kind::remake_fingerprint:  // none that could be made again is the same
      return "mismatch";
    case verdict_kind::backoff:
      return "backoff";
    case verdict_kind::unknown:
      return "unknown";
    case verdict_kind::refused:
      break;
  }
  return "refused";
}

}  // namespace

awaitable<explained_record> find_explained(const config::settings& settings,
                                           const described_request& request, record_access& records,
                                           explanation& reply) {
  auto seen = co_await find_any(settings, records, reply);
  if (is_alive(seen)) {
    const auto& stored = seen.current->stored.about->print;
    const auto print = print_like(settings, request, seen.current->id, stored.method);
    seen.same_request = print && print->value == stored.value;
  }
  co_return seen;
}

explained_end end_of(const explanation& reply, const explained_record& seen) {
  if (reply.observed || reply.kind == explanation::effect::pass) return {"passes"};
  if (reply.kind == explanation::effect::refuse) return {"refused"};
  if (!seen.note.empty()) return {"not_known"};
  claim request;
  request.id = reply.id;
  request.claim_id.fill(0xff);
  request.unknown = reply.unknown;
  request.probe_after = reply.probe_after;
  auto about = std::make_shared<subject>();
  about->print = reply.print;
  std::optional<record> stored;
  if (seen.current) {
    stored = stored_now(*seen.current);
    if (seen.same_request == true) about->print = stored->about->print;
  }
  request.about = std::move(about);
  const instant now{.lease = 0, .wall = base::system_clock().wall_ms()};
  const auto decided = decide(stored ? &*stored : nullptr, request, now, 1);
  return {name_of(decided), decided.verdict.retry_after};
}

}  // namespace onceguard::cli::trial
