#include "store/journal/journal_store.hpp"

#include "store/record_errors.hpp"

namespace onceguard::journal {
namespace {

using boost::asio::awaitable;

template <class Outcome, class Item>
awaitable<std::vector<result<Outcome>>> write_all(std::shared_ptr<batch_queue> queue,
                                                  std::vector<Item> items, milliseconds timeout) {
  const auto job = std::make_shared<batch_job<Item, Outcome>>(std::move(items));
  co_await perform(job, std::move(queue), timeout);
  co_return job->outcomes();
}

template <class Outcome, class Item>
awaitable<result<Outcome>> write_one(std::shared_ptr<batch_queue> queue, Item item,
                                     milliseconds timeout) {
  std::vector<Item> one;
  one.push_back(std::move(item));
  auto outcomes = co_await write_all<Outcome>(std::move(queue), std::move(one), timeout);
  co_return std::move(outcomes.front());
}

template <class Outcome, class Ask>
awaitable<result<Outcome>> ask_reader(std::shared_ptr<batch_queue> queue, Ask ask,
                                      milliseconds timeout) {
  const auto job = std::make_shared<question<Outcome, Ask>>(std::move(ask));
  co_await perform(job, std::move(queue), timeout);
  co_return job->outcome();
}

}  // namespace

journal_store::journal_store(std::unique_ptr<const journal_params> params,
                             std::unique_ptr<open_journal> opened)
    : params_(std::move(params)),
      journal_(std::move(opened)),
      writer_(*params_, *journal_),
      reader_(*params_, *journal_) {}

result<std::unique_ptr<journal_store>> journal_store::open(journal_params params) {
  auto kept = std::make_unique<const journal_params>(std::move(params));
  auto opened = open_journal::open(*kept);
  if (!opened) return opened.error();
  return std::unique_ptr<journal_store>(new journal_store(std::move(kept), std::move(*opened)));
}

store_traits journal_store::traits() const { return {.name = "journal", .shared = false}; }

awaitable<std::vector<result<verdict>>> journal_store::claim(std::vector<onceguard::claim> batch,
                                                             milliseconds timeout) {
  return write_all<verdict>(writer_.queue(), std::move(batch), timeout);
}

awaitable<std::vector<result<settled>>> journal_store::settle(std::vector<settlement> batch,
                                                              milliseconds timeout) {
  return write_all<settled>(writer_.queue(), std::move(batch), timeout);
}

awaitable<std::vector<result<bool>>> journal_store::extend(std::vector<extension> batch,
                                                           milliseconds timeout) {
  return write_all<bool>(writer_.queue(), std::move(batch), timeout);
}

awaitable<result<resolve_decision>> journal_store::resolve(resolution request,
                                                           milliseconds timeout) {
  return write_one<resolve_decision>(writer_.queue(), std::move(request), timeout);
}

awaitable<result<import_outcome>> journal_store::import_record(imported_record request,
                                                               milliseconds timeout) {
  if (request.recovery) co_return recovery_refused("journal");
  co_return co_await write_one<import_outcome>(writer_.queue(), std::move(request), timeout);
}

awaitable<result<std::size_t>> journal_store::sweep(std::size_t limit, milliseconds timeout) {
  const auto job = std::make_shared<sweep_job>(limit);
  co_await perform(job, writer_.queue(), timeout);
  co_return job->outcome();
}

awaitable<result<std::optional<record_view>>> journal_store::find(record_id id,
                                                                  milliseconds timeout) {
  return ask_reader<std::optional<record_view>>(
      reader_.queue(), [id](record_queries& queries) { return queries.find(id); }, timeout);
}

awaitable<result<list_page>> journal_store::list(list_filter filter, std::string cursor,
                                                 std::size_t limit, milliseconds timeout) {
  auto ask = [filter = std::move(filter), cursor = std::move(cursor),
              limit](record_queries& queries) { return queries.list(filter, cursor, limit); };
  return ask_reader<list_page>(reader_.queue(), std::move(ask), timeout);
}

awaitable<result<counts>> journal_store::count(std::string cursor, milliseconds timeout) {
  auto ask = [cursor = std::move(cursor)](record_queries& queries) {
    return queries.count(cursor);
  };
  return ask_reader<counts>(reader_.queue(), std::move(ask), timeout);
}

awaitable<result<onceguard::vitals>> journal_store::vitals(milliseconds timeout) {
  auto ask = [](record_queries& queries) { return queries.read_vitals(); };
  return ask_reader<onceguard::vitals>(reader_.queue(), ask, timeout);
}

awaitable<result<void>> journal_store::check_writes(milliseconds timeout) {
  const auto job = std::make_shared<write_check>();
  co_await perform(job, writer_.queue(), timeout);
  co_return job->outcome();
}

std::vector<store_number> journal_store::numbers() const {
  auto out = writer_.queue()->numbers();
  const std::lock_guard locked(journal_->lock);
  const auto number = [](auto value) { return static_cast<double>(value); };
  const auto& log = *journal_->log;
  out.push_back({"onceguard_store_size_bytes", "Its segments.", number(log.size()), false});
  out.push_back(
      {"onceguard_store_segments", "The files of its log.", number(log.segments().size()), false});
  out.push_back(
      {"onceguard_store_keys", "Keys in its table.", number(journal_->table.size()), false});
  return out;
}

void journal_store::stop() {
  const std::lock_guard lock(stopping_);
  writer_.stop();
  reader_.stop();
}

}  // namespace onceguard::journal
