#include <fstream>
#include <iostream>

#include "base/clock.hpp"
#include "cli/change_log.hpp"
#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/keys/export_file.hpp"
#include "cli/store_work.hpp"
#include "config/table/parsers.hpp"
#include "store/pepper.hpp"
#include "text/json_text.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::keys {
namespace {

using boost::asio::awaitable;

constexpr std::size_t imported_at_once = 64;
// Clocks of two machines may differ slightly.
constexpr milliseconds clocks_differ{5 * 60'000};

int refuse_import(const std::string& file, const error& why) {
  std::cerr << "onceguard: " << file << ": " << why.detail << "\n";
  return exit_failed;
}

struct checked_file {
  export_head head;
  imported_keys keys;
};

/// Reads the whole file first, so that nothing of a damaged file is imported.
result<checked_file> check(const std::string& file) {
  std::ifstream input(file, std::ios::binary);
  if (!input) return error(errc::invalid_argument, "it can't be opened");
  record_reader reader(input);
  auto head = reader.head();
  if (!head) return head.error();
  checked_file out{std::move(*head), {}};
  for (;;) {
    const auto read = reader.next();
    if (!read) return read.error();
    if (!*read) return out;
    out.keys.note(**read);
  }
}

struct import_request {
  std::string file;
  std::string reason;
};

class importing {
 public:
  importing(store& records, std::istream& input, const checked_file& checked, milliseconds timeout)
      : store_(records),
        reader_(input),
        keys_(checked.keys),
        exported_at_(checked.head.exported_at),
        timeout_(timeout) {}

  awaitable<int> run();
  [[nodiscard]] std::string sum() const;

 private:
  [[nodiscard]] awaitable<void> import_each();
  void note(const result<import_outcome>& reply, std::uint64_t line, const std::string& key);

  store& store_;
  record_reader reader_;
  const imported_keys& keys_;
  const std::int64_t exported_at_;
  const milliseconds timeout_;
  bool at_end_ = false;
  std::optional<error> stopped_by_;  // stops the import
  std::uint64_t done_ = 0, there_ = 0, expired_ = 0, conflicts_ = 0, refused_ = 0;
};

awaitable<int> importing::run() {
  if (const auto head = reader_.head(); !head) stopped_by_ = head.error();
  const auto import_record = [this] { return import_each(); };
  co_await side_by_side(imported_at_once, import_record);
  std::cout << sum() << "\n";
  if (stopped_by_) {
    std::cerr << "onceguard: not all of them: import it again, which changes nothing of what is "
                 "there\n";
    co_return complain(*stopped_by_);
  }
  co_return conflicts_ + refused_ == 0 ? exit_ok : exit_failed;
}

std::string importing::sum() const {
  auto out = std::to_string(done_) + " records imported";
  const auto add = [&out](std::uint64_t number, const char* what_became) {
    if (number > 0) out += ", " + std::to_string(number) + what_became;
  };
  add(there_, " were there already");
  add(expired_, " have expired since the export");
  add(conflicts_, " stand there differently");
  add(refused_, " can't be stored");
  return out;
}

awaitable<void> importing::import_each() {
  while (!at_end_ && !stopped_by_) {
    auto read = reader_.next();
    if (!read) {
      stopped_by_ = read.error();
      break;
    }
    if (!*read) {
      at_end_ = true;
      break;
    }
    const auto line = reader_.line();
    const auto later = base::system_clock().wall_ms() - exported_at_;
    auto value = aged(std::move(**read), milliseconds(std::max<std::int64_t>(later, 0)));
    if (!value) {
      ++expired_;
      continue;
    }
    const auto key = plain_text(value->stored.about->key);
    if (const auto kept = keys_.keep(*value); !kept) {
      note(kept.error(), line, key);
      continue;
    }
    note(co_await store_.import_record(std::move(*value), timeout_), line, key);
  }
}

void importing::note(const result<import_outcome>& reply, std::uint64_t line,
                     const std::string& key) {
  const auto where = "onceguard: line " + std::to_string(line) + ", key " + key + ": ";
  if (!reply) {
    const auto& why = reply.error();
    if (why.code != errc::invalid_argument && why.code != errc::record_unreadable) {
      stopped_by_ = why;
      return;
    }
    ++refused_;
    std::cerr << where << why.detail << "\n";
    return;
  }
  switch (*reply) {
    case import_outcome::imported:
      ++done_;
      break;
    case import_outcome::already_there:
      ++there_;
      break;
    case import_outcome::conflict:
      ++conflicts_;
      std::cerr << where
                << "another record, or a later state of this one, stands in the store and "
                   "was left as it is\n";
      break;
  }
}

/// One line of the audit log for all records, and one for what became of them.
awaitable<int> import_all(store& records, const import_request& request,
                          const checked_file& checked, const config::settings& settings,
                          change_log& changes) {
  if (const auto fits = checked.keys.fit(); !fits) {
    co_return refuse_import(request.file, fits.error());
  }
  audited_change change;
  change.action = "import";
  change.about = request.file + ", exported at " + time_text(checked.head.exported_at);
  if (const auto line = changes.log().intend(changes.author(), change); !line) {
    std::cerr << "onceguard: " << line.error().detail << "; nothing was changed\n";
    co_return exit_failed;
  }
  std::ifstream input(request.file, std::ios::binary);
  importing all(records, input, checked, settings.store.timeout);
  const int code = co_await all.run();
  if (const auto line = changes.log().conclude(changes.author(), change, all.sum()); !line) {
    std::cerr << "onceguard: " << line.error().detail << "\n";
    co_return exit_failed;
  }
  co_return code;
}

int run_keys_import(const given_flags& given, const import_request& request) {
  const auto checked = check(request.file);
  if (!checked) return refuse_import(request.file, checked.error());
  const auto exported_at = checked->head.exported_at;
  const milliseconds ahead(exported_at - base::system_clock().wall_ms());
  if (ahead > clocks_differ) {
    return refuse_import(
        request.file,
        error(errc::invalid_argument,
              "exported at " + time_text(exported_at) + ", which is " +
                  config::duration_text(ahead) +
                  " ahead of this machine's clock: set the clock, as retention goes on "
                  "by it"));
  }
  return run_change(
      given, "keys import", request.reason, false,
      [&](store& records, const config::settings& settings, change_log* changes) {
        return import_all(records, request, *checked, settings, *changes);
      },
      missing_file::made);
}

}  // namespace

void add_keys_import_command(const command& added) {
  const auto request = std::make_shared<import_request>();
  added.add(
      {{"FILE", &request->file, "What to read", required("")}, reason_argument(request->reason)});
  const auto given = add_store_flags(added, {"audit-log"});
  added.runs([=] { return run_keys_import(*given, *request); });
}

}  // namespace onceguard::cli::keys
