#include "store/redis/redis_store.hpp"

#include <map>
#include <set>

#include "base/hash.hpp"
#include "base/log.hpp"
#include "store/redis/full_scan.hpp"
#include "store/redis/operator_queries.hpp"
#include "store/redis/wire.hpp"
#include "store/view.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

/// Reads the metadata of a part. The request goes to the server that has the part's records.
struct metadata {
  static constexpr bool writes = false;
  struct item {
    record_id id{};
    bool copies_only = false;
  };
  using outcome = part_vitals;
  [[nodiscard]] static std::optional<error> complaint(const item&) { return std::nullopt; }
  static void write(std::string& text, const script_calls& scripts, const keyspace& names,
                    const item& item) {
    write_vitals(text, scripts, names, names.part_of(item.id), item.copies_only);
  }
  [[nodiscard]] static result<part_vitals> read(const reply& reply, const item&) {
    return read_vitals(reply);
  }
};

template <class Kind>
awaitable<std::vector<result<typename Kind::outcome>>> send_all(
    std::shared_ptr<batch_queue> queue, std::vector<typename Kind::item> items,
    milliseconds timeout) {
  const auto whole = std::make_shared<batch_job<Kind>>(std::move(items), timeout);
  co_await perform(whole, std::move(queue), timeout);
  co_return whole->outcomes();
}

void log_unreadable(const std::string& name, const std::map<record_id, std::string>& found) {
  for (const auto& [id, why] : found) {
    base::log(base::event::stored_record_unreadable,
              {{"store", name}, {"record", base::to_hex(id)}, {"why", why}});
  }
}

/// Collects the first records after a cursor.
class page_taker final : public scan_listener {
 public:
  page_taker(const list_filter& filter, const listed& after, std::size_t limit)
      : filter_(filter), after_(after), limit_(limit) {}

  void begin() override {
    found_.clear();
    unreadable_.clear();
    more_ = false;
  }
  void take(scan_step step) override {
    for (auto& each : step.unreadable) unreadable_.insert_or_assign(each.id, std::move(each.why));
    for (auto& [name, view] : step.found) {
      if (name <= after_ || !matches(filter_, view)) continue;
      found_.insert_or_assign(name, std::move(view));
      if (found_.size() <= limit_) continue;
      found_.erase(std::prev(found_.end()));
      more_ = true;
    }
  }
  [[nodiscard]] const std::map<record_id, std::string>& unreadable() const { return unreadable_; }
  [[nodiscard]] list_page page() {
    list_page out;
    // Unreadable records have no position in the order. They come once, on the first page.
    if (after_ == listed()) {
      for (const auto& [id, why] : unreadable_) out.unreadable.push_back({id, why});
    }
    if (more_ && !found_.empty()) out.cursor = cursor_of(found_.rbegin()->first);
    for (auto& [name, view] : found_) out.records.push_back(std::move(view));
    return out;
  }

 private:
  const list_filter& filter_;
  const listed after_;
  const std::size_t limit_;
  std::map<listed, record_view> found_;
  std::map<record_id, std::string> unreadable_;
  bool more_ = false;
};

class count_taker final : public scan_listener {
 public:
  void begin() override {
    out_ = {};
    unreadable_.clear();
  }
  void take(scan_step step) override {
    for (const auto& each : step.unreadable) unreadable_.insert(each.id);
    out_.unreadable = unreadable_.size();
    for (std::size_t state = 1; state <= observed_states; ++state) {
      out_.by_state[state] += step.counts[state];
    }
  }
  [[nodiscard]] const counts& counted() const noexcept { return out_; }

 private:
  counts out_;
  std::set<record_id> unreadable_;
};

}  // namespace

result<std::unique_ptr<redis_store>> redis_store::open(redis_params params) {
  auto parsed_address = parse_address(params.url);
  if (!parsed_address) return parsed_address.error();
  auto tls = make_tls(*parsed_address);
  if (!tls) return tls.error();
  const auto timeout = params.timeout;
  auto servers =
      std::make_unique<pool>(std::move(params), std::move(*parsed_address), std::move(*tls));
  std::unique_ptr<redis_store> made(new redis_store(std::move(servers), timeout));
  if (auto why = made->pool_->wait_until_ready()) return std::move(*why);
  return made;
}

redis_store::redis_store(std::unique_ptr<pool> servers, milliseconds timeout)
    : pool_(std::move(servers)),
      subscription_(
          pool_->at(), pool_->names().settled(),
          [this] {
            std::vector<endpoint> out;
            for (const auto& each : pool_->servers()) out.push_back(each.at);
            return out;
          },
          timeout) {}
redis_store::~redis_store() { stop(); }

store_traits redis_store::traits() const {
  auto out = redis_store_kind().traits;
  out.durable = pool_->durable();
  return out;
}

awaitable<std::vector<result<verdict>>> redis_store::claim(std::vector<onceguard::claim> batch,
                                                           milliseconds timeout) {
  return send_all<claims>(pool_->queue(), std::move(batch), timeout);
}

awaitable<std::vector<result<settled>>> redis_store::settle(std::vector<settlement> batch,
                                                            milliseconds timeout) {
  return send_all<settles>(pool_->queue(), std::move(batch), timeout);
}

awaitable<std::vector<result<bool>>> redis_store::extend(std::vector<extension> batch,
                                                         milliseconds timeout) {
  return send_all<extensions>(pool_->queue(), std::move(batch), timeout);
}

awaitable<result<resolve_decision>> redis_store::resolve(resolution request, milliseconds timeout) {
  const auto id = request.id;
  bool answer_damaged = false;
  if (request.force && request.completed) {
    // The server can't check an answer.
    const auto seen = co_await find(id, timeout);
    answer_damaged = !seen && seen.error().code == errc::record_unreadable;
  }
  auto write = [request = std::move(request), answer_damaged](
                   std::string& text, const script_calls& calls, const keyspace& names) {
    write_resolve(text, calls, names, request, answer_damaged);
  };
  auto read = [](const reply& reply) { return read_resolve(reply); };
  question_traits traits;
  traits.repeatable = false;
  traits.carries_generation = true;
  auto question = make_question<resolve_decision>(traits, id, timeout, std::move(write), read);
  co_return co_await ask(pool_->queue(), std::move(question), timeout);
}

awaitable<result<import_outcome>> redis_store::import_record(imported_record request,
                                                             milliseconds timeout) {
  if (auto wrong = complaint(request)) co_return std::move(*wrong);
  const auto id = request.id;
  auto write = [request = std::move(request)](std::string& text, const script_calls& calls,
                                              const keyspace& names) {
    write_import(text, calls, names, request);
  };
  auto read = [](const reply& reply) { return read_import(reply); };
  question_traits traits;
  traits.repeatable = false;
  traits.carries_generation = true;
  auto question = make_question<import_outcome>(traits, id, timeout, std::move(write), read);
  co_return co_await ask(pool_->queue(), std::move(question), timeout);
}

awaitable<result<std::optional<record_view>>> redis_store::find(record_id id,
                                                                milliseconds timeout) {
  auto write = [id](std::string& text, const script_calls& scripts, const keyspace& names) {
    write_find(text, scripts, names, id);
  };
  auto read = [id](const reply& reply) { return read_find(reply, id); };
  auto request = make_question<std::optional<record_view>>({}, id, timeout, write, read);
  return ask(pool_->queue(), std::move(request), timeout);
}

awaitable<result<list_page>> redis_store::list(list_filter filter, std::string cursor,
                                               std::size_t limit, milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  const auto after = read_cursor(cursor);
  if (!after) co_return after.error();
  page_taker page(filter, *after, limit);
  scan_scope wish;
  wish.state = filter.state ? static_cast<int>(*filter.state) : 0;
  wish.heads = true;
  if (auto why = co_await scan_all(*pool_, wish, until, page)) co_return std::move(*why);
  if (cursor.empty()) log_unreadable(pool_->at().name, page.unreadable());
  co_return page.page();
}

awaitable<result<counts>> redis_store::count(std::string, milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  count_taker counted;
  const scan_scope states;
  if (auto why = co_await scan_all(*pool_, states, until, counted)) co_return std::move(*why);
  co_return counted.counted();
}

awaitable<result<std::size_t>> redis_store::sweep(std::size_t, milliseconds timeout) {
  const auto polled = co_await read_metadata(timeout);
  if (!polled) co_return polled.error();
  co_return std::size_t{0};
}

awaitable<result<onceguard::vitals>> redis_store::vitals(milliseconds timeout) {
  const auto begun = pool_->memory().poll_begins();
  auto reply = co_await read_metadata(timeout);
  if (reply) pool_->memory().poll_ended(begun);
  co_return reply;
}

awaitable<result<onceguard::vitals>> redis_store::read_metadata(milliseconds timeout) {
  std::vector<metadata::item> parts(pool_->names().parts());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].id.front() = static_cast<unsigned char>(i);
    parts[i].copies_only = pool_->copies_only();
  }
  const auto reply = co_await send_all<metadata>(pool_->queue(), std::move(parts), timeout);
  onceguard::vitals out;
  base::sha256 identities;
  if (auto why = refuse_eviction(reply)) co_return std::move(*why);
  for (const auto& each : reply) {
    if (!each) co_return each.error();
    out.identity = each->of.identity;
    identities.part(out.identity);
    out.generation += each->of.generation;
    out.forgotten += each->of.forgotten;
  }
  pool_->read_clock(reply.front()->now);
  if (reply.size() > 1) out.identity = base::to_hex(identities.finish());
  co_return out;
}

/// Refuses a server whose eviction policy was changed after the store was opened, for example by
/// the parameters of a managed service. Evicted keys are a loss of memory, which the changed
/// identity reports.
std::optional<error> redis_store::refuse_eviction(
    const std::vector<result<part_vitals>>& items) const {
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

void redis_store::stop() {
  const std::lock_guard lock(stopping_);
  subscription_.stop();
  pool_->stop();
}

}  // namespace onceguard::redis

namespace onceguard {

const store_kind& redis_store_kind() noexcept {
  static constexpr std::array<std::string_view, 6> schemes{
      "redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"};
  static const store_kind kind{
      .schemes = schemes,
      .example = "redis://HOST",
      .traits = {.name = "redis"},
      .open = [](const store_params& params) -> result<std::unique_ptr<store>> {
        auto opened = redis::redis_store::open(
            {.url = params.url, .timeout = params.timeout, .clock = params.clock});
        if (!opened) return opened.error();
        return std::unique_ptr<store>(std::move(*opened));
      },
      // The parser's texts describe the fault without repeating the URL.
      .url_fault =
          [](std::string_view url) {
            const auto parsed = redis::parse_address(std::string(url));
            return parsed ? std::string() : parsed.error().detail;
          },
  };
  return kind;
}

}  // namespace onceguard
