// Records in transfer between stores: a file with one JSON object per line. docs/formats.md
// describes the lines. Times count from the moment of the export, so that a later reader can
// continue remaining durations.
#pragma once
#include <cstdint>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include <onceguard/store.hpp>

namespace onceguard::cli::keys {

/// The first line of a file.
struct export_head {
  std::int64_t exported_at = 0;  ///< wall clock of the exporting machine, in milliseconds
  std::string store;             ///< the name of the store that the records come from
};

class record_writer {
 public:
  /// Writes the first line.
  record_writer(std::ostream& output, const export_head& head);
  void add(const imported_record& request);
  /// Writes the last line. Readers refuse a file without it as truncated.
  void finish();
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  void put(const std::string& line);

  std::ostream& output_;
  digest chain_{};
  std::uint64_t count_ = 0;
};

/// Every error is errc::invalid_argument, with the line number and the fault.
class record_reader {
 public:
  explicit record_reader(std::istream& input) : input_(input) {}

  [[nodiscard]] result<export_head> head();
  /// The next record. Empty at the end of a complete and undamaged file.
  [[nodiscard]] result<std::optional<imported_record>> next();
  /// The number of the last line read, from 1.
  [[nodiscard]] std::uint64_t line() const noexcept { return line_; }

 private:
  [[nodiscard]] bool take_line();
  [[nodiscard]] error wrong(std::string_view description) const;
  [[nodiscard]] result<std::optional<imported_record>> end(std::uint64_t count,
                                                           std::string_view chain);

  std::istream& input_;
  std::string text_;
  digest chain_{};       // hash of all lines before the current one
  digest next_chain_{};  // hash including the current line
  std::uint64_t line_ = 0;
  std::uint64_t count_ = 0;
};

/// The record as of `later` milliseconds later (negative: earlier). Empty if the record has expired
/// by then.
[[nodiscard]] std::optional<imported_record> aged(imported_record request, milliseconds later);

}  // namespace onceguard::cli::keys
