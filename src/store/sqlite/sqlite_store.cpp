#include "store/sqlite/sqlite_store.hpp"

#include <filesystem>
#include <sys/stat.h>

#include <sqlite3.h>

#include "store/record_errors.hpp"

namespace onceguard::sqlite {
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
  const auto job = make_question<Outcome>(std::move(ask));
  co_await perform(job, std::move(queue), timeout);
  co_return job->outcome();
}

}  // namespace

sqlite_store::sqlite_store(std::unique_ptr<const sqlite_params> params,
                           std::unique_ptr<session> opened)
    : params_(std::move(params)),
      writer_(*params_, *opened),
      reader_(*params_, std::move(opened)) {}

result<std::unique_ptr<sqlite_store>> sqlite_store::open(sqlite_params params) {
  auto kept = std::make_unique<sqlite_params>(std::move(params));
  // Reading needs no free room and no lock. The writer opens the file for itself with its first
  // write.
  auto opened = session::open(*kept, reading_for(*kept));
  if (!opened) return opened.error();
  // The process may change its directory later.
  kept->path = std::filesystem::absolute(kept->path).string();
  return std::unique_ptr<sqlite_store>(new sqlite_store(std::move(kept), std::move(*opened)));
}

store_traits sqlite_store::traits() const { return sqlite_store_kind().traits; }

awaitable<std::vector<result<verdict>>> sqlite_store::claim(std::vector<onceguard::claim> batch,
                                                            milliseconds timeout) {
  return write_all<verdict>(writer_.queue(), std::move(batch), timeout);
}

awaitable<std::vector<result<settled>>> sqlite_store::settle(std::vector<settlement> batch,
                                                             milliseconds timeout) {
  return write_all<settled>(writer_.queue(), std::move(batch), timeout);
}

awaitable<std::vector<result<bool>>> sqlite_store::extend(std::vector<extension> batch,
                                                          milliseconds timeout) {
  return write_all<bool>(writer_.queue(), std::move(batch), timeout);
}

awaitable<result<resolve_decision>> sqlite_store::resolve(resolution request,
                                                          milliseconds timeout) {
  return write_one<resolve_decision>(writer_.queue(), std::move(request), timeout);
}

awaitable<result<import_outcome>> sqlite_store::import_record(imported_record request,
                                                              milliseconds timeout) {
  if (request.recovery) co_return recovery_refused("sqlite");
  co_return co_await write_one<import_outcome>(writer_.queue(), std::move(request), timeout);
}

awaitable<result<std::size_t>> sqlite_store::sweep(std::size_t limit, milliseconds timeout) {
  const auto job = std::make_shared<sweep_job>(limit);
  co_await perform(job, writer_.queue(), timeout);
  co_return job->outcome();
}

awaitable<result<std::optional<record_view>>> sqlite_store::find(record_id id,
                                                                 milliseconds timeout) {
  return ask_reader<std::optional<record_view>>(
      reader_.queue(), [id](record_queries& queries) { return queries.find(id); }, timeout);
}

awaitable<result<list_page>> sqlite_store::list(list_filter filter, std::string cursor,
                                                std::size_t limit, milliseconds timeout) {
  auto ask = [filter = std::move(filter), cursor = std::move(cursor),
              limit](record_queries& queries) { return queries.list(filter, cursor, limit); };
  return ask_reader<list_page>(reader_.queue(), std::move(ask), timeout);
}

awaitable<result<counts>> sqlite_store::count(std::string cursor, milliseconds timeout) {
  auto ask = [cursor = std::move(cursor)](record_queries& queries) {
    return queries.count(cursor);
  };
  return ask_reader<counts>(reader_.queue(), std::move(ask), timeout);
}

awaitable<result<onceguard::vitals>> sqlite_store::vitals(milliseconds timeout) {
  const auto begun = writer_.memory().poll_begins();
  auto ask = [](record_queries& queries) { return queries.read_vitals(); };
  auto reply = co_await ask_reader<onceguard::vitals>(reader_.queue(), ask, timeout);
  if (reply) writer_.memory().poll_ended(begun);
  co_return reply;
}

std::vector<store_number> sqlite_store::numbers() const {
  auto out = writer_.queue()->numbers();
  double size = 0;
  for (const char* suffix : {"", "-wal"}) {
    struct stat seen {};
    if (::stat((params_->path + suffix).c_str(), &seen) == 0) {
      size += static_cast<double>(seen.st_size);
    }
  }
  out.push_back({"onceguard_store_size_bytes", "Its file with the write-ahead log.", size, false});
  return out;
}

awaitable<result<void>> sqlite_store::check_writes(milliseconds timeout) {
  const auto job = std::make_shared<lock_check>();
  co_await perform(job, writer_.queue(), timeout);
  if (job->lapse() && job->lapse()->code == errc::store_unreachable) {
    co_return error(errc::store_unreachable,
                    "sqlite store " + params_->path +
                        ": no write could begin within the timeout: another process holds the "
                        "write lock of the file, or the disk is very slow");
  }
  co_return job->outcome();
}

void sqlite_store::stop() {
  const std::lock_guard lock(stopping_);
  writer_.stop();
  reader_.stop();
}

void set_up_library() noexcept {
  // Fails where SQLite is in use already: that costs time and nothing else.
  static_cast<void>(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0));
  static_cast<void>(sqlite3_config(SQLITE_CONFIG_PAGECACHE, nullptr, 0, 0));
}

const char* library_version() noexcept { return sqlite3_libversion(); }

}  // namespace onceguard::sqlite
