#include "store/dynamodb/dynamodb_store.hpp"

#include <algorithm>
#include <type_traits>

#include "base/hex.hpp"
#include "base/log.hpp"
#include "store/dynamodb/scan/table_scan.hpp"
#include "store/dynamodb/table/table_setup.hpp"
#include "store/record_errors.hpp"

namespace onceguard::dynamodb {
namespace {

using boost::asio::awaitable;

// For how long a sweep looks for leases that are over.
constexpr milliseconds sweep_max{1'000};

}  // namespace

result<std::unique_ptr<dynamodb_store>> dynamodb_store::open(const dynamodb_params& params) {
  auto target = parse_address(params.url);
  if (!target) return target.error();
  auto credentials = std::make_shared<aws::credential_source>("Amazon DynamoDB");
  if (const auto found = credentials->current(); !found) return found.error();
  if (auto why = check_table(*target, *credentials, params.timeout)) return std::move(*why);
  return std::unique_ptr<dynamodb_store>(
      new dynamodb_store(params, std::move(*target), std::move(credentials)));
}

dynamodb_store::dynamodb_store(const dynamodb_params& params, address target,
                               std::shared_ptr<aws::credential_source> credentials)
    : params_(params),
      target_(std::move(target)),
      clocks_(*params.clock),
      client_({.target = target_,
               .requests_at_once = params.connections * requests_per_connection,
               .on_no_table = [this] { gate_.changed(); }},
              std::move(credentials)),
      open_(client_.queue(), context()) {}

dynamodb_store::~dynamodb_store() { stop(); }

act_context dynamodb_store::context() {
  return {target_.table,
          clocks_,
          observations_,
          leases_,
          params_.retention_margin,
          params_.piece_size,
          params_.pages_in_order};
}

void dynamodb_store::stop() { client_.stop(); }

store_traits dynamodb_store::traits() const { return dynamodb_store_kind().traits; }

template <class Act>
awaitable<std::vector<result<typename Act::outcome_type>>> dynamodb_store::carry_out(
    std::vector<typename Act::item_type> batch, milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  auto acts = acts_of<Act>(std::move(batch), context());
  const auto send = [&](std::vector<request> sent) {
    return send_all(client_.queue(), std::move(sent), left_until(until));
  };
  co_await carry_out_acts(acts, send, act_order::one_by_one);
  std::vector<item> unreadable;
  for (auto& each : acts) {
    if (each.has_written()) wrote_ = true;
    if (each.to_note()) unreadable.push_back(*each.to_note());
    if constexpr (std::is_same_v<Act, claim_act>) {
      if (each.has_written() && !gate_.known()) {
        // Nobody holds the lease that was granted, and it is given back.
        each.outcome.emplace(error(errc::store_lost,
                                   target_.name() + ": the table was gone, or is another one",
                                   effect::done));
      }
    }
  }
  if (!unreadable.empty()) co_await note_unreadable(std::move(unreadable), until);
  co_return outcomes_of(acts);
}

template <class Act>
awaitable<result<typename Act::outcome_type>> dynamodb_store::carry_out_one(
    typename Act::item_type one, milliseconds timeout) {
  std::vector<typename Act::item_type> batch;
  batch.push_back(std::move(one));
  auto done = co_await carry_out<Act>(std::move(batch), timeout);
  co_return std::move(done.front());
}

awaitable<void> dynamodb_store::note_unreadable(std::vector<item> found, steady_time until) {
  std::vector<request> notes;
  for (const auto& each : found) {
    const auto id = record_of(each.id);
    if (id)
      notes.push_back(note_item(target_.table, each, waiting_part(part_of(*id)), std::nullopt));
  }
  // A note that fails is made by the next request that meets the record.
  static_cast<void>(co_await send_all(client_.queue(), std::move(notes), left_until(until)));
}

awaitable<std::vector<result<verdict>>> dynamodb_store::claim(std::vector<onceguard::claim> batch,
                                                              milliseconds timeout) {
  return carry_out<claim_act>(std::move(batch), timeout);
}

awaitable<std::vector<result<settled>>> dynamodb_store::settle(std::vector<settlement> batch,
                                                               milliseconds timeout) {
  return carry_out<settle_act>(std::move(batch), timeout);
}

awaitable<std::vector<result<bool>>> dynamodb_store::extend(std::vector<extension> batch,
                                                            milliseconds timeout) {
  return carry_out<extend_act>(std::move(batch), timeout);
}

awaitable<result<resolve_decision>> dynamodb_store::resolve(resolution request,
                                                            milliseconds timeout) {
  return carry_out_one<resolve_act>(std::move(request), timeout);
}

awaitable<result<import_outcome>> dynamodb_store::import_record(imported_record request,
                                                                milliseconds timeout) {
  if (request.recovery) co_return recovery_refused("dynamodb");
  co_return co_await carry_out_one<import_act>(std::move(request), timeout);
}

awaitable<result<std::optional<record_view>>> dynamodb_store::find(record_id id,
                                                                   milliseconds timeout) {
  return carry_out_one<find_act>(question{id}, timeout);
}

awaitable<result<list_page>> dynamodb_store::list(list_filter filter, std::string cursor,
                                                  std::size_t limit, milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  const bool first = cursor.empty();
  result<list_page> page = list_page();
  if (filter.needs_person) {
    page = co_await open_.list(filter, std::move(cursor), limit, until);
  } else {
    page = co_await list_table(client_.queue(), context(), filter, std::move(cursor), limit, until);
  }
  if (page && first) {
    for (const auto& each : page->unreadable) {
      base::log(
          base::event::stored_record_unreadable,
          {{"store", target_.name()}, {"record", base::digest_text(each.id)}, {"why", each.why}});
    }
  }
  co_return page;
}

awaitable<result<counts>> dynamodb_store::count(std::string cursor, milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  co_return co_await count_table(client_.queue(), context(), std::move(cursor), until);
}

awaitable<result<std::size_t>> dynamodb_store::sweep(std::size_t, milliseconds timeout) {
  const auto begun = base::boot_now();
  const auto pause_at = begun + std::min(timeout / 2, sweep_max);
  if (auto why = co_await open_.sweep(pause_at, begun + timeout)) co_return std::move(*why);
  co_return std::size_t{0};
}

awaitable<result<onceguard::vitals>> dynamodb_store::vitals(milliseconds timeout) {
  const auto begun = gate_.poll_begins();
  // Taken before the poll is sent: a write that ends meanwhile is counted by the next one.
  const bool wrote = wrote_.exchange(false);
  auto done = co_await send_one(client_.queue(), poll_metadata(target_.table, wrote), timeout);
  if (done.failed) {
    if (wrote) wrote_ = true;
    co_return *done.failed;
  }
  auto found = done.condition_failed ? result<std::optional<metadata>>(std::nullopt)
                                     : read_metadata(done.answer);
  if (!found) co_return found.error();
  if (!*found || (*found)->identity.empty()) {
    gate_.changed();
    co_return metadata_missing(target_);
  }
  const auto& seen = **found;
  {
    const std::lock_guard lock(identity_mutex_);
    if (!identity_.empty() && identity_ != seen.identity) gate_.changed();
    identity_ = seen.identity;
  }
  gate_.poll_ended(begun);
  co_return onceguard::vitals{seen.identity, seen.generation, seen.forgotten};
}

}  // namespace onceguard::dynamodb
