#include "store/redis/redis_store.hpp"

#include <map>

#include "base/log.hpp"
#include "store/redis/look.hpp"
#include "store/redis/wire.hpp"
#include "store/view.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

template <class Kind>
awaitable<std::vector<result<typename Kind::outcome>>> send_all(
    std::shared_ptr<batch_queue> queue, std::vector<typename Kind::item> items,
    milliseconds timeout) {
  const auto whole = std::make_shared<batch_job<Kind>>(std::move(items), timeout);
  co_await perform(whole, std::move(queue), timeout);
  co_return whole->outcomes();
}

template <class Question>
auto ask(std::shared_ptr<batch_queue> queue, std::shared_ptr<Question> asked, milliseconds timeout)
    -> awaitable<decltype(asked->outcome())> {
  co_await perform(asked, std::move(queue), timeout);
  co_return asked->outcome();
}

milliseconds left_until(steady_time until) {
  const auto left = std::chrono::duration_cast<milliseconds>(until - base::steady_now());
  return std::max(left, milliseconds(0));
}

void tell_unreadable(const std::string& place, std::uint64_t count) {
  if (count == 0) return;
  base::log(base::log_level::error, "records that can't be read are left out",
            {{"store", place}, {"count", std::to_string(count)}});
}

}  // namespace

result<std::unique_ptr<redis_store>> redis_store::open(redis_params params) {
  auto at = parse_address(params.url);
  if (!at) return at.error();
  auto tls = make_tls(*at);
  if (!tls) return tls.error();
  std::unique_ptr<redis_store> made(
      new redis_store(std::move(params), std::move(*at), std::move(*tls)));
  if (auto why = made->pool_.wait_until_ready()) return std::move(*why);
  return made;
}

store_traits redis_store::traits() const {
  store_traits out;
  out.name = "redis";
  out.durable = pool_.durable();
  return out;
}

awaitable<std::vector<result<verdict>>> redis_store::claim(std::vector<onceguard::claim> batch,
                                                           milliseconds timeout) {
  return send_all<claims>(pool_.queue(), std::move(batch), timeout);
}

awaitable<std::vector<result<settled>>> redis_store::settle(std::vector<settlement> batch,
                                                            milliseconds timeout) {
  return send_all<settles>(pool_.queue(), std::move(batch), timeout);
}

awaitable<std::vector<result<bool>>> redis_store::extend(std::vector<extension> batch,
                                                         milliseconds timeout) {
  return send_all<extensions>(pool_.queue(), std::move(batch), timeout);
}

awaitable<result<resolve_decision>> redis_store::resolve(resolution how, milliseconds timeout) {
  const auto id = how.id;
  auto write = [how = std::move(how)](std::string& to, const script_calls& calls,
                                      const keyspace& names) {
    write_resolve(to, calls, names, how);
  };
  auto read = [](const reply& said) { return read_resolve(said); };
  question_traits traits;
  traits.repeatable = false;
  traits.tells_generation = true;
  auto asked = make_question<resolve_decision>(traits, id, timeout, std::move(write), read);
  return ask(pool_.queue(), std::move(asked), timeout);
}

awaitable<result<std::optional<record_view>>> redis_store::find(record_id id,
                                                                milliseconds timeout) {
  auto write = [id](std::string& to, const script_calls& how, const keyspace& names) {
    write_find(to, how, names, id);
  };
  auto read = [id](const reply& said) { return read_find(said, id); };
  auto asked = make_question<std::optional<record_view>>({}, id, timeout, write, read);
  return ask(pool_.queue(), std::move(asked), timeout);
}

awaitable<result<scan_step>> redis_store::scan(std::string cursor, int state, bool heads,
                                               steady_time until) {
  auto write = [cursor = std::move(cursor), state, heads](std::string& to, const script_calls& how,
                                                          const keyspace& names) {
    write_scan(to, how, names, cursor, state, heads);
  };
  auto read = [this, heads](const reply& said) { return read_scan(said, pool_.names(), heads); };
  const auto left = left_until(until);
  auto asked = make_question<scan_step>({}, std::nullopt, left, std::move(write), read);
  return ask(pool_.queue(), std::move(asked), left);
}

awaitable<result<list_page>> redis_store::list(list_filter filter, std::string cursor,
                                               std::size_t limit, milliseconds timeout) {
  const auto until = base::steady_now() + timeout;
  const auto after = read_cursor(cursor);
  if (!after) co_return after.error();
  const int state = filter.state ? static_cast<int>(*filter.state) : 0;
  std::map<listed, record_view> page;
  std::uint64_t unreadable = 0;
  bool more = false;
  std::string at = "0";
  do {
    auto step = co_await scan(at, state, true, until);
    if (!step) co_return step.error();
    at = std::move(step->cursor);
    unreadable += step->unreadable;
    for (auto& [place, view] : step->found) {
      if (place <= *after || !matches(filter, view)) continue;
      page.insert_or_assign(place, std::move(view));
      if (page.size() <= limit) continue;
      page.erase(std::prev(page.end()));
      more = true;
    }
  } while (at != "0");
  tell_unreadable(pool_.at().place, unreadable);
  list_page out;
  if (more && !page.empty()) out.cursor = cursor_of(page.rbegin()->first);
  for (auto& [place, view] : page) out.records.push_back(std::move(view));
  co_return out;
}

awaitable<result<counts>> redis_store::count(milliseconds timeout) {
  const auto until = base::steady_now() + timeout;
  counts out;
  std::string at = "0";
  do {
    auto step = co_await scan(at, 0, false, until);
    if (!step) co_return step.error();
    at = std::move(step->cursor);
    for (std::size_t state = 1; state <= observed_states; ++state) {
      out.by_state[state] += step->counts[state];
    }
  } while (at != "0");
  co_return out;
}

awaitable<result<std::size_t>> redis_store::sweep(std::size_t, milliseconds timeout) {
  const auto looked = co_await vitals(timeout);
  if (!looked) co_return looked.error();
  co_return std::size_t{0};
}

awaitable<result<onceguard::vitals>> redis_store::vitals(milliseconds timeout) {
  auto write = [](std::string& to, const script_calls& how, const keyspace& names) {
    write_vitals(to, how, names);
  };
  auto read = [this](const reply& said) -> result<onceguard::vitals> {
    std::int64_t now = 0;
    auto told = read_vitals(said, now);
    pool_.look_at_clock(now);
    return told;
  };
  auto asked = make_question<onceguard::vitals>({}, std::nullopt, timeout, write, read);
  return ask(pool_.queue(), std::move(asked), timeout);
}

void redis_store::stop() {
  const std::lock_guard lock(stopping_);
  pool_.stop();
}

}  // namespace onceguard::redis

namespace onceguard {

result<std::unique_ptr<store>> make_redis_store(const store_params& params) {
  redis::redis_params own;
  own.url = params.url;
  own.timeout = params.timeout;
  own.clock = params.clock;
  auto opened = redis::redis_store::open(std::move(own));
  if (!opened) return opened.error();
  return std::unique_ptr<store>(std::move(*opened));
}

}  // namespace onceguard
