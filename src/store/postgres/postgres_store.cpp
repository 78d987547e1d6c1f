#include "store/postgres/postgres_store.hpp"

#include "store/postgres/claim_and_settle.hpp"
#include "store/postgres/queries/store_queries.hpp"
#include "store/record_errors.hpp"
#include "store/record_view.hpp"

namespace onceguard::postgres {
namespace {

using boost::asio::awaitable;

/// Asks a question. `Read`: rows, dispatcher → Outcome or result<Outcome>. A question that only
/// reads may be asked again when its effect is unknown.
template <class Outcome, class Read>
awaitable<result<Outcome>> ask(std::shared_ptr<batch_queue> queue, const statement& sent,
                               std::function<parameters(const dispatcher&)> encode, Read read,
                               milliseconds timeout) {
  auto outcome = std::make_shared<std::optional<result<Outcome>>>();
  request single;
  single.content = question{
      &sent, std::move(encode),
      [outcome, read](const rows& rows, dispatcher& here) { outcome->emplace(read(rows, here)); }};
  const auto done = co_await send_one(std::move(queue), std::move(single), timeout);
  if (done.failed) co_return *done.failed;
  co_return std::move(**outcome);
}

}  // namespace

result<std::unique_ptr<postgres_store>> postgres_store::open(postgres_params params) {
  auto where = parse_conninfo(params.url, params.timeout);
  if (!where) return where.error();
  std::unique_ptr<postgres_store> made(new postgres_store(std::move(params), std::move(*where)));
  if (auto why = made->pool_.wait_until_ready()) return std::move(*why);
  return made;
}

store_traits postgres_store::traits() const { return postgres_store_kind().traits; }

// --- claims, settles, extensions ------------------------------------------------------------

template <class Act>
awaitable<std::vector<result<typename Act::outcome_type>>> postgres_store::carry_out(
    std::vector<typename Act::item_type> batch, milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  auto acts = acts_of<Act>(std::move(batch), pool_);
  const auto send = [&](std::vector<request> sent) {
    return send_all(pool_.queue(), std::move(sent), left_until(until));
  };
  co_await carry_out_acts(acts, send, act_order::together);
  co_return outcomes_of(acts);
}

awaitable<std::vector<result<verdict>>> postgres_store::claim(std::vector<onceguard::claim> batch,
                                                              milliseconds timeout) {
  return carry_out<claim_act>(std::move(batch), timeout);
}

awaitable<std::vector<result<settled>>> postgres_store::settle(std::vector<settlement> batch,
                                                               milliseconds timeout) {
  return carry_out<settle_act>(std::move(batch), timeout);
}

awaitable<std::vector<result<bool>>> postgres_store::extend(std::vector<extension> batch,
                                                            milliseconds timeout) {
  return carry_out<extend_act>(std::move(batch), timeout);
}

// --- operators ------------------------------------------------------------------------------

/// Reads the record, decides, and writes what was decided, until nothing came in between.
/// `Decide`: reading, request → result of a decision; fills in how the request is written.
template <class Decision, class Decide>
awaitable<result<Decision>> postgres_store::decide_on_record(record_id id, Decide decide,
                                                             milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  for (std::uint32_t tries = 0;; ++tries) {
    request query;
    query.id = id;
    query.content = record_query{true};
    if (tries > 0) query.not_before = base::boot_now() + std::chrono::milliseconds(2);
    const auto seen = co_await send_one(pool_.queue(), std::move(query), left_until(until));
    if (seen.failed) co_return *seen.failed;
    auto decided = decide(seen.got);
    if (!decided || !decided->write) co_return decided;
    auto write = write_request(id, seen.got, *decided->write);
    if constexpr (requires { decided->forgets_answer; }) {
      std::get<row_to_write>(write.content).forgets = decided->forgets_answer;
    }
    if constexpr (requires { decided->recovery; }) {
      std::get<row_to_write>(write.content).recovery = decided->recovery;
    }
    write.announces = true;
    write.repeatable = false;
    const auto done = co_await send_one(pool_.queue(), std::move(write), left_until(until));
    if (done.failed) co_return *done.failed;
    if (done.got.written) co_return decided;
  }
}

awaitable<result<resolve_decision>> postgres_store::resolve(resolution request,
                                                            milliseconds timeout) {
  const auto id = request.id;
  auto decide = [this, request = std::move(request)](const reading& seen) {
    const auto now = instant_of(seen.now, pool_.expiry_paused());
    const auto& wrong = seen.unreadable;
    if (wrong && !request.force) return result<resolve_decision>(*wrong);
    const auto next = std::max(seen.token + 1, static_cast<token>(seen.now) * 1'000);
    return result<resolve_decision>(wrong ? resolve_unreadable(request, now, next)
                                          : decide_resolution(seen.record_found(), request, now));
  };
  return decide_on_record<resolve_decision>(id, std::move(decide), timeout);
}

namespace {

/// The decision, and what is imported beside the record.
struct import_of_steps : import_decision {
  std::optional<recovery_point> recovery;
};

}  // namespace

awaitable<result<import_outcome>> postgres_store::import_record(imported_record request,
                                                                milliseconds timeout) {
  const auto id = request.id;
  auto decide = [this, request = std::move(request)](const reading& seen) {
    using decision = result<import_of_steps>;
    if (!request.stored.about) return decision(subject_missing());
    if (seen.unreadable) return decision(*seen.unreadable);
    return decision(import_of_steps{
        decide_import(seen.record_found(), request, instant_of(seen.now, pool_.expiry_paused())),
        request.recovery});
  };
  const auto decided = co_await decide_on_record<import_of_steps>(id, std::move(decide), timeout);
  if (!decided) co_return decided.error();
  co_return decided->outcome;
}

awaitable<result<std::optional<record_view>>> postgres_store::find(record_id id,
                                                                   milliseconds timeout) {
  request query;
  query.id = id;
  query.content = record_query{true};
  auto done = co_await send_one(pool_.queue(), std::move(query), timeout);
  if (done.failed) co_return *done.failed;
  auto& seen = done.got;
  if (seen.unreadable) co_return *seen.unreadable;
  const auto now = instant_of(seen.now, pool_.expiry_paused());
  if (!seen.found || expired(seen.found->record, now)) co_return std::nullopt;
  auto view = make_view(id, std::move(seen.found->record), now);
  view.recovery = std::move(seen.found->recovery);
  co_return std::optional<record_view>(std::move(view));
}

awaitable<result<list_page>> postgres_store::list(list_filter filter, std::string cursor,
                                                  std::size_t limit, milliseconds timeout) {
  if (filter.needs_person) {
    co_return co_await list_noted(std::move(filter), std::move(cursor), limit, timeout);
  }
  if (filter.key && (cursor.empty() || is_key_cursor(cursor))) {
    auto page = co_await list_by_key(filter, cursor, limit, timeout);
    if (!page) co_return page.error();
    if (*page) co_return **std::move(page);
  }
  const auto left = filter.key ? split_cursor(cursor) : left_list{"", cursor};
  const auto after = read_cursor(left.rest);
  if (!after) co_return after.error();
  auto encode = [filter, at = *after, limit](const dispatcher& here) {
    return ask_list(filter, at, limit, here.expiry_paused());
  };
  auto read = [filter, at = *after, limit, name = pool_.name()](const rows& rows,
                                                                dispatcher& here) {
    return read_list(rows, filter, at, limit, here.expiry_paused(), name);
  };
  auto page = co_await ask<list_page>(pool_.queue(), list_piece, encode, read, timeout);
  if (!page) co_return page.error();
  co_return go_on_behind(left, *std::move(page));
}

awaitable<result<std::optional<list_page>>> postgres_store::list_by_key(list_filter filter,
                                                                        std::string cursor,
                                                                        std::size_t limit,
                                                                        milliseconds timeout) {
  const auto after = read_id_cursor(cursor);
  if (!after) co_return after.error();
  auto nothing = [](const dispatcher&) { return parameters(); };
  auto read_whether = [](const rows& rows, dispatcher&) { return read_boolean(rows); };
  const auto there =
      co_await ask<bool>(pool_.queue(), find_key_index, nothing, read_whether, timeout);
  if (!there) co_return there.error();
  if (!*there) co_return std::nullopt;
  auto encode = [key = *filter.key, at = *after, limit](const dispatcher&) {
    return ask_key(key, at, limit);
  };
  auto read = [filter, limit, name = pool_.name()](const rows& rows, dispatcher& here) {
    return read_key(rows, filter, limit, here.expiry_paused(), name);
  };
  auto page = co_await ask<list_page>(pool_.queue(), list_key, encode, read, timeout);
  if (!page) co_return page.error();
  co_return *std::move(page);
}

awaitable<result<list_page>> postgres_store::list_noted(list_filter filter, std::string cursor,
                                                        std::size_t limit, milliseconds timeout) {
  const auto after = read_id_cursor(cursor);
  if (!after) co_return after.error();
  auto encode = [at = *after, limit](const dispatcher& here) {
    return ask_attention(at, limit, here.expiry_paused());
  };
  auto read = [filter, limit, name = pool_.name()](const rows& rows, dispatcher& here) {
    return read_attention(rows, filter, limit, here.expiry_paused(), name);
  };
  co_return co_await ask<list_page>(pool_.queue(), list_attention, encode, read, timeout);
}

awaitable<result<counts>> postgres_store::count(std::string cursor, milliseconds timeout) {
  const auto after = read_cursor(cursor);
  if (!after) co_return after.error();
  auto encode = [at = *after](const dispatcher& here) {
    return ask_count(at, here.expiry_paused());
  };
  auto read = [at = *after](const rows& rows, dispatcher&) { return read_counts(rows, at); };
  co_return co_await ask<counts>(pool_.queue(), count_piece, encode, read, timeout);
}

awaitable<result<std::size_t>> postgres_store::sweep(std::size_t limit, milliseconds timeout) {
  if (const auto polled = co_await read_vitals(timeout); !polled) co_return polled.error();
  auto encode = [limit](const dispatcher& here) {
    constexpr std::size_t most = 2'000;  // each row takes a lock
    parameters out;
    out.int4(static_cast<std::int64_t>(std::min(limit, most))).boolean(here.expiry_paused());
    return out;
  };
  auto read = [this](const rows& rows, dispatcher&) {
    size_ = rows.integer(0, 1);
    return static_cast<std::size_t>(rows.integer(0, 0));
  };
  co_return co_await ask<std::size_t>(pool_.queue(), sweep_some, encode, read, timeout);
}

// --- metadata -------------------------------------------------------------------------------

awaitable<result<onceguard::vitals>> postgres_store::vitals(milliseconds timeout) {
  const auto begun = pool_.gate().poll_begins();
  auto reply = co_await read_vitals(timeout);
  if (reply) pool_.gate().poll_ended(begun);
  co_return reply;
}

awaitable<result<onceguard::vitals>> postgres_store::read_vitals(milliseconds timeout) {
  auto encode = [](const dispatcher& here) {
    parameters out;
    here.memory().write(out);
    return out;
  };
  auto read = [](const rows& rows, dispatcher& here) {
    auto reply = postgres::read_vitals(rows);
    here.read_clock(reply.now);
    here.read_memory(reply.vitals.identity, reply.floor);
    return std::move(reply.vitals);
  };
  return ask<onceguard::vitals>(pool_.queue(), poll_vitals, encode, read, timeout);
}

awaitable<result<epoch_reading>> postgres_store::read_epoch(std::string accelerator,
                                                            milliseconds timeout) {
  auto encode = [accelerator](const dispatcher&) {
    parameters out;
    out.bytes(accelerator);
    return out;
  };
  auto read = [accelerator](const rows& rows, dispatcher&) {
    return postgres::read_epoch(rows, accelerator);
  };
  return ask<epoch_reading>(pool_.queue(), poll_epoch, encode, read, timeout);
}

awaitable<result<bool>> postgres_store::note(accelerator_state found, std::string distrusted,
                                             milliseconds timeout) {
  auto encode = [found = std::move(found), distrusted = std::move(distrusted)](const dispatcher&) {
    return ask_note(found, distrusted);
  };
  // A repetition does no harm: the distrusted epoch has ended by then.
  auto read = [](const rows& rows, dispatcher&) { return read_boolean(rows); };
  return ask<bool>(pool_.queue(), note_state, encode, read, timeout);
}

std::vector<store_number> postgres_store::numbers() const {
  auto out = pool_.queue()->numbers();
  out.push_back({"onceguard_store_round_trips_total", "Round trips to the database.",
                 static_cast<double>(pool_.trips())});
  if (const auto size = size_.load(); size >= 0) {
    out.push_back({"onceguard_store_size_bytes",
                   "Its tables with their indexes, as the last sweep found them.",
                   static_cast<double>(size), false});
  }
  return out;
}

void postgres_store::stop() {
  const std::lock_guard lock(stopping_);
  pool_.stop();
}

}  // namespace onceguard::postgres
