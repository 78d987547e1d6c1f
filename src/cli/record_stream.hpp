// Records on their way from one store to another: a file of one JSON object a line. docs/formats.md
// has its lines. In it the moment of the export is 0 in time, so that what is left of durations is
// counted on by whoever reads it later.
#pragma once
#include <cstdint>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include <onceguard/store.hpp>

namespace onceguard::cli {

/// What a file says of itself in its first line.
struct stream_head {
  std::int64_t exported_at = 0;  ///< wall clock of the machine that wrote it, in milliseconds
  std::string store;             ///< the name of the store that it came from
};

class record_writer {
 public:
  /// Writes the first line.
  record_writer(std::ostream& output, const stream_head& head);
  void add(const imported_record& request);
  /// The last line, without which a file is refused as cut.
  void finish();
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  void put(const std::string& line);

  std::ostream& to_;
  digest chain_{};
  std::uint64_t count_ = 0;
};

/// Every error is errc::invalid_argument and names the line and what is wrong with it.
class record_reader {
 public:
  explicit record_reader(std::istream& input) : from_(input) {}

  [[nodiscard]] result<stream_head> head();
  /// None: that was all, and it is as it was written.
  [[nodiscard]] result<std::optional<imported_record>> next();
  /// The number of the line that was read last, from 1.
  [[nodiscard]] std::uint64_t line() const noexcept { return line_; }

 private:
  [[nodiscard]] bool take_line();
  [[nodiscard]] error wrong(std::string_view description) const;
  [[nodiscard]] result<std::optional<imported_record>> end(std::uint64_t count,
                                                           std::string_view chain);

  std::istream& from_;
  std::string text_;
  digest chain_{};  // of the lines before this one
  digest with_{};   // and of this one
  std::uint64_t line_ = 0;
  std::uint64_t count_ = 0;
};

/// Of an adoption what it is so much `later` (negative: what it was before); none: it has expired
/// by then.
[[nodiscard]] std::optional<imported_record> aged(imported_record request, milliseconds later);

}  // namespace onceguard::cli
