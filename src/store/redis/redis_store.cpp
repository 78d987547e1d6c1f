#include "store/redis/redis_store.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"
#include "store/record_errors.hpp"
#include "store/record_view.hpp"
#include "store/redis/scan/scan_listeners.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

constexpr std::size_t noted_remembered = 4'096;
// For how long a sweep looks for what needs a person.
constexpr milliseconds sweep_max{1'000};

void log_unreadable_records(const std::string& name,
                            const std::map<record_id, std::string>& found) {
  for (const auto& [id, why] : found) {
    base::log(base::event::stored_record_unreadable,
              {{"store", name}, {"record", base::digest_text(id)}, {"why", why}});
  }
}

}  // namespace

result<std::unique_ptr<redis_store>> redis_store::open(redis_params params) {
  auto parsed_address = parse_address(params.url);
  if (!parsed_address) return parsed_address.error();
  auto tls = make_tls(*parsed_address);
  if (!tls) return tls.error();
  const auto timeout = params.timeout;
  auto servers =
      std::make_unique<server_pool>(std::move(params), std::move(*parsed_address), std::move(*tls));
  std::unique_ptr<redis_store> made(new redis_store(std::move(servers), timeout));
  if (auto why = made->pool_->wait_until_ready()) return std::move(*why);
  return made;
}

redis_store::redis_store(std::unique_ptr<server_pool> servers, milliseconds timeout)
    : pool_(std::move(servers)),
      notes_(*pool_),
      noted_(noted_remembered),
      subscription_(
          pool_->at(), pool_->names().settled(),
          [this] {
            std::vector<endpoint> out;
            for (const auto& each : pool_->servers()) out.push_back(each.endpoint);
            return out;
          },
          timeout) {}
redis_store::~redis_store() { stop(); }

store_traits redis_store::traits() const {
  auto out = redis_store_kind().traits;
  out.durable = pool_->durable();
  return out;
}

template <class Act>
awaitable<std::vector<result<typename Act::outcome_type>>> redis_store::carry_out(
    std::vector<typename Act::item_type> batch, milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  auto acts = acts_of<Act>(std::move(batch), act_context{pool_->names(), leases_});
  const auto send = [&](std::vector<request> sent) {
    return send_all(pool_->queue(), std::move(sent), left_until(until));
  };
  co_await carry_out_acts(acts, send, act_order::together);
  if (auto found = to_note(acts); !found.empty()) co_await notes_.note(std::move(found), until);
  co_return outcomes_of(acts);
}

template <class Act>
awaitable<result<typename Act::outcome_type>> redis_store::carry_out_one(
    typename Act::item_type one, milliseconds timeout) {
  std::vector<typename Act::item_type> batch;
  batch.push_back(std::move(one));
  auto done = co_await carry_out<Act>(std::move(batch), timeout);
  co_return std::move(done.front());
}

template <class Act>
std::vector<record_id> redis_store::to_note(const std::vector<Act>& done) {
  std::vector<record_id> out;
  for (const auto& each : done) {
    // An operator has found what was met.
    const bool met = each.met_unknown() && !Act::operators;
    if ((!met && !each.left_unknown()) || pool_->copies_only()) continue;
    std::uint64_t mark = 0;
    std::memcpy(&mark, each.id().data(), sizeof mark);
    const bool known = noted_.exchange(mark, 0).has_value();
    if (each.left_unknown() || !known) out.push_back(each.id());
  }
  return out;
}

awaitable<std::vector<result<verdict>>> redis_store::claim(std::vector<onceguard::claim> batch,
                                                           milliseconds timeout) {
  return carry_out<claim_act>(std::move(batch), timeout);
}

awaitable<std::vector<result<settled>>> redis_store::settle(std::vector<settlement> batch,
                                                            milliseconds timeout) {
  return carry_out<settle_act>(std::move(batch), timeout);
}

awaitable<std::vector<result<bool>>> redis_store::extend(std::vector<extension> batch,
                                                         milliseconds timeout) {
  return carry_out<extend_act>(std::move(batch), timeout);
}

awaitable<result<resolve_decision>> redis_store::resolve(resolution request, milliseconds timeout) {
  return carry_out_one<resolve_act>(std::move(request), timeout);
}

awaitable<result<import_outcome>> redis_store::import_record(imported_record request,
                                                             milliseconds timeout) {
  if (request.recovery) co_return recovery_refused("redis");
  co_return co_await carry_out_one<import_act>(std::move(request), timeout);
}

awaitable<result<std::optional<record_view>>> redis_store::find(record_id id,
                                                                milliseconds timeout) {
  const auto done = co_await send_one(pool_->queue(), record_request(pool_->names(), id), timeout);
  auto seen = read_outcome(done, read_record);
  if (!seen) co_return seen.error();
  if (seen->unreadable) co_return std::move(*seen->unreadable);
  if (!seen->found || expired(seen->found->record, seen->now)) co_return std::nullopt;
  co_return std::optional<record_view>(make_view(id, std::move(seen->found->record), seen->now));
}

awaitable<result<list_page>> redis_store::list(list_filter filter, std::string cursor,
                                               std::size_t limit, milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  const auto after = read_cursor(cursor);
  if (!after) co_return after.error();
  page_listener page(filter, *after, limit);
  std::optional<error> why;
  if (filter.needs_person) {
    why = co_await notes_.scan(until, page);
  } else {
    why = co_await scan_all(*pool_, until, page);
  }
  if (why) co_return *why;
  if (cursor.empty()) log_unreadable_records(pool_->at().name, page.unreadable());
  co_return page.page();
}

awaitable<result<counts>> redis_store::count(std::string, milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  count_listener counted;
  if (auto why = co_await scan_all(*pool_, until, counted)) co_return std::move(*why);
  co_return counted.counted();
}

awaitable<result<std::size_t>> redis_store::sweep(std::size_t, milliseconds timeout) {
  const auto begun = base::boot_now();
  const auto polled = co_await read_metadata(timeout);
  if (!polled) co_return polled.error();
  // Expired records go by their time to live: a sweep only looks for what needs a person.
  if (pool_->copies_only()) co_return std::size_t{0};
  const auto pause_at = begun + std::min(timeout / 2, sweep_max);
  if (auto why = co_await notes_.sweep(pause_at, begun + timeout)) co_return std::move(*why);
  co_return std::size_t{0};
}

awaitable<result<onceguard::vitals>> redis_store::vitals(milliseconds timeout) {
  const auto begun = pool_->memory().poll_begins();
  auto reply = co_await read_metadata(timeout);
  if (reply) pool_->memory().poll_ended(begun);
  co_return reply;
}

awaitable<result<onceguard::vitals>> redis_store::read_metadata(milliseconds timeout) {
  std::vector<request> polls;
  for (std::size_t part = 0; part < pool_->names().parts(); ++part) {
    polls.push_back(poll_part(pool_->names(), part, !pool_->copies_only()));
  }
  const auto done = co_await send_all(pool_->queue(), std::move(polls), timeout);
  std::vector<result<greeting>> parts;
  for (const auto& each : done) parts.push_back(read_outcome(each, read_greeting));
  if (auto why = refuse_eviction(parts)) co_return std::move(*why);
  note_refusal(parts);
  onceguard::vitals out;
  base::sha256 identities;
  std::vector<std::string> names;  // of the parts
  for (const auto& each : parts) {
    if (!each) co_return each.error();
    out.identity = each->name;
    identities.part(out.identity);
    names.push_back(out.identity);
    out.generation += each->generation;
    out.forgotten += each->forgotten;
  }
  pool_->read_clock(parts.front()->now);
  pool_->note_names(std::move(names));
  if (parts.size() > 1) out.identity = base::to_hex(identities.finish());
  co_return out;
}

/// A server without memory, or with too few replicas, answers what is read and refuses each write.
void redis_store::note_refusal(const std::vector<result<greeting>>& items) {
  std::optional<error> why;
  for (const auto& each : items) {
    if (!each || each->refused.empty()) continue;
    why = to_error(failure_of(each->refused), pool_->at().name, effect::none);
    break;
  }
  const std::lock_guard lock(refusing_);
  refusal_ = std::move(why);
}

awaitable<result<void>> redis_store::check_writes(milliseconds) {
  const std::lock_guard lock(refusing_);
  if (refusal_) co_return *refusal_;
  co_return result<void>();
}

/// Refuses a server whose eviction policy was changed after the store was opened, for example by
/// the parameters of a managed service. Evicted keys are a loss of memory, which the changed
/// identity reports.
std::optional<error> redis_store::refuse_eviction(
    const std::vector<result<greeting>>& items) const {
  std::optional<error> out;
  for (std::size_t part = 0; part < items.size(); ++part) {
    if (!items[part]) continue;
    if (items[part]->evicted > 0) {
      base::log(base::event::keys_evicted,
                {{"store", pool_->at().name}, {"keys", items[part]->evicted}});
    }
    const auto wrong = eviction_fault(items[part]->eviction);
    if (!wrong) continue;
    pool_->refuse_server_of(part, *wrong);
    out = to_error(*wrong, pool_->at().name, effect::none);
    out->code = errc::store_unreachable;  // it was right when the store was opened
  }
  return out;
}

std::vector<store_number> redis_store::numbers() const { return pool_->queue()->numbers(); }

void redis_store::stop() {
  const std::lock_guard lock(stopping_);
  subscription_.stop();
  pool_->stop();
}

}  // namespace onceguard::redis
