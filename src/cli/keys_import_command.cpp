#include <fstream>
#include <iostream>

#include "base/clock.hpp"
#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/record_stream.hpp"
#include "cli/store_work.hpp"
#include "config/texts.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli {
namespace {

using boost::asio::awaitable;

constexpr std::size_t imported_at_once = 64;
// Clocks of two machines may differ slightly.
constexpr milliseconds clocks_differ{5 * 60'000};

int refuse(const std::string& file, const error& why) {
  std::cerr << "onceguard: " << file << ": " << why.detail << "\n";
  return exit_failed;
}

/// Reads the whole file first, so that nothing of a damaged file is imported.
result<stream_head> check(const std::string& file) {
  std::ifstream input(file, std::ios::binary);
  if (!input) return error(errc::invalid_argument, "it can't be opened");
  record_reader reader(input);
  const auto head = reader.head();
  if (!head) return head;
  for (;;) {
    const auto read = reader.next();
    if (!read) return read.error();
    if (!*read) return head;
  }
}

class importing {
 public:
  importing(store& records, std::istream& input, const stream_head& head, milliseconds timeout)
      : store_(records), reader_(input), exported_at_(head.exported_at), timeout_(timeout) {}

  awaitable<int> run();

 private:
  [[nodiscard]] awaitable<void> import_each();
  void note(const result<import_outcome>& reply, std::uint64_t line, const std::string& key);

  store& store_;
  record_reader reader_;
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
  std::cout << done_ << " records imported";
  if (there_ > 0) std::cout << ", " << there_ << " were there already";
  if (expired_ > 0) std::cout << ", " << expired_ << " have expired since the export";
  if (conflicts_ > 0) std::cout << ", " << conflicts_ << " stand there differently";
  if (refused_ > 0) std::cout << ", " << refused_ << " can't be stored";
  std::cout << "\n";
  if (stopped_by_) {
    std::cerr << "onceguard: not all of them: import it again, which changes nothing of what is "
                 "there\n";
    co_return complain(*stopped_by_);
  }
  co_return conflicts_ + refused_ == 0 ? exit_ok : exit_failed;
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

int run_keys_import(const given_flags& given, const std::string& file) {
  const auto settings = load_settings(given, false);
  if (!settings) return exit_configuration;
  const auto head = check(file);
  if (!head) return refuse(file, head.error());
  const milliseconds ahead(head->exported_at - base::system_clock().wall_ms());
  if (ahead > clocks_differ) {
    return refuse(file, error(errc::invalid_argument,
                              "exported at " + time_text(head->exported_at) + ", which is " +
                                  config::duration_text(ahead) +
                                  " ahead of this machine's clock: set the clock, as retention "
                                  "goes on by it"));
  }
  std::ifstream input(file, std::ios::binary);
  const auto work = [&](store& records) -> awaitable<int> {
    importing all(records, input, *head, settings->store.timeout);
    co_return co_await all.run();
  };
  return with_store(*settings, work, missing_file::made);
}

}  // namespace

void add_keys_import_command(command keys) {
  const auto added =
      keys.add_command("import", "Take in the records of a file that `keys export` has written");
  const auto file = std::make_shared<std::string>();
  added.add_option("FILE", *file, "What to read").required().type("");
  const auto given = add_store_flags(added);
  added.footer(
      "Nothing that stands in the store is changed, so it may be repeated. What was under way is\n"
      "unknown then. Retention goes on by the clocks of both machines.\n\n"
      "Example:\n"
      "  onceguard keys import records.jsonl --store postgresql:///payments");
  added.runs([=] { return run_keys_import(*given, *file); });
}

}  // namespace onceguard::cli
