#include "store/postgres/postgres_store.hpp"

#include "store/postgres/queries.hpp"
#include "store/view.hpp"

namespace onceguard::postgres {
namespace {

using boost::asio::awaitable;

template <class Outcome, class Item>
awaitable<std::vector<result<Outcome>>> send_all(std::shared_ptr<batch_queue> queue,
                                                 std::vector<Item> items, milliseconds timeout) {
  const auto whole = std::make_shared<batch_job<Item, Outcome>>(std::move(items), timeout);
  co_await perform(whole, std::move(queue), timeout);
  co_return whole->outcomes();
}

constexpr bool repeatable = true;
constexpr bool not_repeatable = false;

}  // namespace

result<std::unique_ptr<postgres_store>> postgres_store::open(postgres_params params) {
  auto where = parse_conninfo(params.url, params.timeout);
  if (!where) return where.error();
  std::unique_ptr<postgres_store> made(new postgres_store(std::move(params), std::move(*where)));
  if (auto why = made->pool_.wait_until_ready()) return std::move(*why);
  return made;
}

store_traits postgres_store::traits() const { return postgres_store_kind().traits; }

awaitable<std::vector<result<verdict>>> postgres_store::claim(std::vector<onceguard::claim> batch,
                                                              milliseconds timeout) {
  return send_all<verdict>(pool_.queue(), std::move(batch), timeout);
}

awaitable<std::vector<result<settled>>> postgres_store::settle(std::vector<settlement> batch,
                                                               milliseconds timeout) {
  return send_all<settled>(pool_.queue(), std::move(batch), timeout);
}

awaitable<std::vector<result<bool>>> postgres_store::extend(std::vector<extension> batch,
                                                            milliseconds timeout) {
  return send_all<bool>(pool_.queue(), std::move(batch), timeout);
}

awaitable<result<resolve_decision>> postgres_store::resolve(resolution request,
                                                            milliseconds timeout) {
  auto encode = [request = std::move(request)](const surroundings& now) {
    return ask_resolve(request, now.expiry_paused);
  };
  auto read = [](const rows& rows, const surroundings&) { return read_resolve(rows); };
  auto question = make_question<resolve_decision>(statement::resolve, not_repeatable, timeout,
                                                  std::move(encode), read);
  return ask(pool_.queue(), std::move(question), timeout);
}

awaitable<result<import_outcome>> postgres_store::import_record(imported_record request,
                                                                milliseconds timeout) {
  if (!request.stored.about) co_return subject_missing();
  auto encode = [request = std::move(request)](const surroundings& now) {
    return ask_import(request, now.expiry_paused);
  };
  auto read = [](const rows& rows, const surroundings&) { return read_import(rows); };
  auto question = make_question<import_outcome>(statement::import_record, not_repeatable, timeout,
                                                std::move(encode), read);
  co_return co_await ask(pool_.queue(), std::move(question), timeout);
}

awaitable<result<std::optional<record_view>>> postgres_store::find(record_id id,
                                                                   milliseconds timeout) {
  using found = std::optional<record_view>;
  auto encode = [id](const surroundings& now) { return ask_find(id, now.expiry_paused); };
  auto read = [](const rows& rows, const surroundings&) {
    return std::optional<result<found>>(read_find(rows));
  };
  auto request = make_question<found>(statement::find, repeatable, timeout, encode, read);
  return ask(pool_.queue(), std::move(request), timeout);
}

awaitable<result<list_page>> postgres_store::list(list_filter filter, std::string cursor,
                                                  std::size_t limit, milliseconds timeout) {
  const auto after = read_cursor(cursor);
  if (!after) co_return after.error();
  auto encode = [filter = std::move(filter), rows = *after, limit](const surroundings& now) {
    return ask_list(filter, rows, limit, now.expiry_paused);
  };
  auto read = [name = pool_.name()](const rows& rows, const surroundings&) {
    return std::optional<result<list_page>>(read_list(rows, name));
  };
  auto request = make_question<list_page>(statement::list, repeatable, timeout, std::move(encode),
                                          std::move(read));
  co_return co_await ask(pool_.queue(), std::move(request), timeout);
}

awaitable<result<counts>> postgres_store::count(std::string cursor, milliseconds timeout) {
  const auto after = read_cursor(cursor);
  if (!after) co_return after.error();
  auto encode = [rows = *after](const surroundings& now) {
    return std::move(parameters().int8(rows).boolean(now.expiry_paused));
  };
  auto read = [](const rows& rows, const surroundings&) {
    return std::optional<result<counts>>(read_counts(rows));
  };
  auto request = make_question<counts>(statement::counts, repeatable, timeout, encode, read);
  co_return co_await ask(pool_.queue(), std::move(request), timeout);
}

awaitable<result<std::size_t>> postgres_store::sweep(std::size_t limit, milliseconds timeout) {
  if (const auto polled = co_await read_vitals(timeout); !polled) co_return polled.error();
  auto encode = [limit](const surroundings& now) {
    constexpr std::size_t most = 1'000'000;
    parameters out;
    out.int4(static_cast<std::int64_t>(std::min(limit, most))).boolean(now.expiry_paused);
    return out;
  };
  auto read = [](const rows& rows, const surroundings&) {
    rows.expect_columns(1);
    const auto gone = rows.size() == 1 ? rows.integer(0, 0) : 0;
    return std::optional<result<std::size_t>>(static_cast<std::size_t>(gone));
  };
  auto request =
      make_question<std::size_t>(statement::sweep, not_repeatable, timeout, encode, read);
  co_return co_await ask(pool_.queue(), std::move(request), timeout);
}

awaitable<result<onceguard::vitals>> postgres_store::vitals(milliseconds timeout) {
  const auto begun = pool_.memory().poll_begins();
  auto reply = co_await read_vitals(timeout);
  if (reply) pool_.memory().poll_ended(begun);
  co_return reply;
}

awaitable<result<onceguard::vitals>> postgres_store::read_vitals(milliseconds timeout) {
  auto encode = [](const surroundings& here) { return ask_vitals(here.at.generation()); };
  auto read = [](const rows& rows, const surroundings& here) {
    std::int64_t now = 0;
    auto reply = postgres::read_vitals(rows, now);
    here.at.read_clock(now);
    here.at.read_generation({reply.identity, reply.generation});
    return std::optional<result<onceguard::vitals>>(std::move(reply));
  };
  auto request =
      make_question<onceguard::vitals>(statement::vitals, repeatable, timeout, encode, read);
  return ask(pool_.queue(), std::move(request), timeout);
}

awaitable<result<epoch_reading>> postgres_store::read_epoch(std::string accelerator,
                                                            milliseconds timeout) {
  auto encode = [accelerator](const surroundings&) { return ask_epoch(accelerator); };
  auto read = [accelerator](const rows& rows, const surroundings&) {
    return std::optional<result<epoch_reading>>(postgres::read_epoch(rows, accelerator));
  };
  auto request = make_question<epoch_reading>(statement::epoch, repeatable, timeout,
                                              std::move(encode), std::move(read));
  return ask(pool_.queue(), std::move(request), timeout);
}

awaitable<result<bool>> postgres_store::note(accelerator_state found, std::string distrusted,
                                             milliseconds timeout) {
  auto encode = [found = std::move(found), distrusted = std::move(distrusted)](
                    const surroundings&) { return ask_note(found, distrusted); };
  auto read = [](const rows& rows, const surroundings&) {
    return std::optional<result<bool>>(read_note(rows));
  };
  // A repetition does no harm: the distrusted epoch has ended by then.
  auto request = make_question<bool>(statement::note, repeatable, timeout, std::move(encode), read);
  return ask(pool_.queue(), std::move(request), timeout);
}

void postgres_store::stop() {
  const std::lock_guard lock(stopping_);
  pool_.stop();
}

}  // namespace onceguard::postgres

namespace onceguard {

const store_kind& postgres_store_kind() noexcept {
  static constexpr std::array<std::string_view, 2> schemes{"postgresql", "postgres"};
  static const store_kind kind{
      .schemes = schemes,
      .example = "postgresql://HOST/DATABASE",
      .traits = {.name = "postgres", .transactional = true},
      .needs_migration = true,
      .takes_accelerator = true,
      .answers_queries = true,
      .open = [](const store_params& params) -> result<std::unique_ptr<store>> {
        auto opened = postgres::postgres_store::open({.url = params.url,
                                                      .timeout = params.timeout,
                                                      .clock = params.clock,
                                                      .connections = params.connections});
        if (!opened) return opened.error();
        return std::unique_ptr<store>(std::move(*opened));
      },
      .url_fault =
          [](std::string_view url) {
            const bool right = url.substr(url.find(':')).starts_with("://");
            return std::string(right ? "" : "expected \"postgresql://HOST/DATABASE\"");
          },
  };
  return kind;
}

}  // namespace onceguard
