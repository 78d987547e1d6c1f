#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <poll.h>
#include <string>
#include <unistd.h>

#include <onceguard/error.hpp>

#include "base/clock.hpp"
#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/keys/export_file.hpp"
#include "cli/store_work.hpp"
#include "config/stores.hpp"
#include "config/table/parsers.hpp"
#include "store/imported_record.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::keys {

namespace {

// Writes a file that gets its name only once it is complete and on the disk.

/// Only the file's owner can read it. An unfinished file is removed. "-" is standard output.
class new_file {
 public:
  explicit new_file(const std::string& path);
  ~new_file();
  new_file(const new_file&) = delete;
  new_file& operator=(const new_file&) = delete;

  /// errc::conflict: a file with that name exists; errc::invalid_argument: the file can't be
  /// created.
  [[nodiscard]] result<void> open();
  [[nodiscard]] std::ostream& stream() noexcept {
    return is_standard_output() ? std::cout : static_cast<std::ostream&>(out_);
  }
  /// Writes out everything in the stream, and reports a failure.
  [[nodiscard]] result<void> flush();
  [[nodiscard]] result<void> finish();

 private:
  [[nodiscard]] bool is_standard_output() const noexcept { return path_ == "-"; }
  [[nodiscard]] error failure() const;
  [[nodiscard]] error exists() const;

  const std::string path_;
  const std::string part_;  // the name until the file is complete
  std::ofstream out_;
};

}  // namespace

new_file::new_file(const std::string& path) : path_(path), part_(path + ".part") {}

new_file::~new_file() {
  if (out_.is_open()) ::unlink(part_.c_str());
}

error new_file::failure() const {
  return error(errc::invalid_argument, path_ + ": " + std::strerror(errno));
}

error new_file::exists() const {
  return error(errc::conflict, path_ + ": there is such a file already");
}

result<void> new_file::open() {
  if (is_standard_output()) return {};
  std::error_code failed;
  if (std::filesystem::exists(path_, failed)) return exists();
  const int made = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (made < 0) return failure();
  out_.open(part_, std::ios::binary);
  ::close(made);
  if (!out_) return failure();
  return {};
}

result<void> new_file::flush() {
  if (!stream().flush()) return failure();
  return {};
}

result<void> new_file::finish() {
  if (auto gone_out = flush(); !gone_out || is_standard_output()) return gone_out;
  const int written = ::open(part_.c_str(), O_WRONLY | O_CLOEXEC);
  const bool kept = written >= 0 && ::fsync(written) == 0;
  if (written >= 0) ::close(written);
  // Not rename(), which would replace a file that was created meanwhile.
  if (!kept) return failure();
  if (::link(part_.c_str(), path_.c_str()) != 0) return errno == EEXIST ? exists() : failure();
  return {};
}

namespace {

using boost::asio::awaitable;

constexpr std::size_t page_of_records = 200;
// If pages come without answers, each page costs a pass over all records.
constexpr std::size_t page_of_heads = 5'000;
constexpr std::size_t confirmed = 32;
// A pass over all records takes time.
constexpr milliseconds least_timeout{60'000};

struct export_request {
  std::string file;
  bool force = false;
};

bool answer_left_out(const record_view& seen) {
  const auto& r = seen.stored;
  return r.state == record_state::completed && !r.answer &&
         (r.kept == answer_kept::full || r.kept == answer_kept::status_only);
}

bool lease_runs(const record_view& seen) {
  const bool leased = seen.stored.state == record_state::started ||
                      seen.stored.state == record_state::in_progress ||
                      seen.stored.state == record_state::probing;
  return leased && seen.lease_left.count() > 0;
}

error still_running(const record_view& seen) {
  return error(errc::conflict, "the key " + plain_text(seen.stored.about->key) +
                                   " is being run, with a lease for another " +
                                   config::duration_text(seen.lease_left) +
                                   "; stop the gateways and try again, or use --force: whatever "
                                   "is under way will be unknown");
}

/// Finds the answers that a page has left out.
class answer_search {
 public:
  answer_search(store& records, std::vector<record_view>& page, milliseconds timeout)
      : store_(records), page_(page), timeout_(timeout), gone_(page.size(), false) {}

  /// Removes the records that no longer exist from the page.
  awaitable<result<void>> run() {
    const auto work = [this] { return find_each(); };
    co_await side_by_side(confirmed, work);
    if (failed_) co_return *failed_;
    std::size_t position = 0;
    std::erase_if(page_, [&](const record_view&) { return gone_[position++]; });
    co_return result<void>();
  }

 private:
  awaitable<void> find_each() {
    while (next_ < page_.size() && !failed_) {
      const auto position = next_++;
      if (!answer_left_out(page_[position])) continue;
      auto found = co_await store_.find(page_[position].id, timeout_);
      if (!found) {
        failed_ = found.error();
      } else if (*found) {
        page_[position] = std::move(**found);
      } else {
        gone_[position] = true;
      }
    }
  }

  store& store_;
  std::vector<record_view>& page_;
  const milliseconds timeout_;
  std::size_t next_ = 0;
  std::optional<error> failed_;
  std::vector<bool> gone_;
};

/// Writes all records, in the order of their first claims, with times converted to `begun`: the
/// whole file refers to one moment.
awaitable<result<void>> export_all(store& store, new_file& file, record_writer& writer,
                                   std::int64_t begun, bool force, milliseconds timeout) {
  const auto& clock = base::system_clock();
  const list_filter everything;
  std::string cursor;
  std::size_t limit = page_of_records;
  do {
    auto page = co_await store.list(everything, cursor, limit, timeout);
    if (!page) co_return page.error();
    if (!page->unreadable.empty() && !force) {
      co_return error(errc::record_unreadable,
                      std::to_string(page->unreadable.size()) +
                          " records can't be read and would be left behind, so that their keys "
                          "run again; `onceguard keys list --state unreadable` names them: see to "
                          "them first, or use --force");
    }
    if (std::any_of(page->records.begin(), page->records.end(), answer_left_out)) {
      limit = page_of_heads;
      answer_search search(store, page->records, timeout);
      const auto filled = co_await search.run();
      if (!filled) co_return filled.error();
    }
    for (auto& seen : page->records) {
      if (lease_runs(seen) && !force) co_return still_running(seen);
      const auto now = clock.wall_ms();
      writer.add(*aged(make_imported_record(std::move(seen), now), milliseconds(begun - now)));
    }
    // Flush each page, so that a full disk is reported as such, and not as a later error.
    if (auto gone_out = file.flush(); !gone_out) co_return gone_out.error();
    cursor = page->cursor;
  } while (!cursor.empty());
  co_return result<void>();
}

/// Claims that the generation does not show yet.
void wait_for_generation(milliseconds lag) {
  const auto until = base::boot_now() + lag;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now()).count();
    if (left <= 0) return;
    ::poll(nullptr, 0, static_cast<int>(left));
  }
}

awaitable<int> export_records(store& records, const export_request& request,
                              milliseconds store_timeout, milliseconds lag) {
  const auto timeout = std::max(store_timeout, least_timeout);
  new_file file(request.file);
  if (const auto opened = file.open(); !opened) co_return complain(opened.error());
  const auto before = co_await records.vitals(timeout);
  if (!before) co_return complain(before.error());
  export_head head;
  head.exported_at = base::system_clock().wall_ms();
  head.store = records.traits().name;
  record_writer writer(file.stream(), head);
  const auto exported =
      co_await export_all(records, file, writer, head.exported_at, request.force, timeout);
  if (!exported) co_return complain(exported.error());
  if (!request.force) wait_for_generation(lag);
  const auto after = co_await records.vitals(timeout);
  if (!after) co_return complain(after.error());
  const bool still = before->identity == after->identity && before->generation == after->generation;
  if (!still && !request.force) {
    co_return complain(error(errc::conflict,
                             "keys were claimed meanwhile, and may be missing: stop the gateways "
                             "and try again, or use --force"));
  }
  writer.finish();
  if (const auto done = file.finish(); !done) co_return complain(done.error());
  if (request.file != "-") {
    std::cout << writer.count() << " records exported to " << request.file << "\n";
  }
  co_return exit_ok;
}

int run_keys_export(const given_flags& given, const export_request& request) {
  auto settings = load_settings(given, false);
  if (!settings) return exit_configuration;
  const auto* kind = config::known_stores().kind_of(settings->store.url);
  const auto lag = kind != nullptr ? kind->generation_lag : milliseconds(0);
  // What is encrypted stays so in the file.
  settings->store.answers_as_stored = true;
  return with_store(*settings, [&](store& records) {
    return export_records(records, request, settings->store.timeout, lag);
  });
}

}  // namespace

void add_keys_export_command(const command& added) {
  const auto request = std::make_shared<export_request>();
  added.add({{"FILE", &request->file, "What to write; it must not be there yet; -: standard output",
              required("")},
             {"--force", &request->force,
              "Also while leases run (these records will be unknown) and keys are claimed"}});
  const auto given = add_store_flags(added);
  added.runs([=] { return run_keys_export(*given, *request); });
}

}  // namespace onceguard::cli::keys
