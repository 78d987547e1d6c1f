// Server-sent events (WHATWG HTML, section 9.2), as they arrive, piece by piece.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace onceguard::mcp {

/// One event with the bytes that it was written with.
struct sent_event {
  std::string bytes;  ///< with the empty line at its end
  std::string data;   ///< the lines of data, joined
  std::string id;     ///< of the field of this name; empty: there is none
};

/// Cuts a stream into events. Not thread-safe.
class event_stream {
 public:
  static constexpr std::size_t longest_event = 64u << 20;

  /// A byte order mark at the very beginning is left out, as section 9.2.6 has it.
  void add(std::string_view bytes);
  /// The next whole event. False: there is none yet.
  [[nodiscard]] bool next(sent_event& out);
  /// What came behind the last whole event.
  [[nodiscard]] const std::string& rest() const noexcept { return held_; }
  [[nodiscard]] bool too_long() const noexcept { return held_.size() > longest_event; }

 private:
  std::string held_;
  bool begun_ = false;        ///< what may be a byte order mark is behind us
  std::size_t searched_ = 0;  ///< no event ends before
};

/// The event with other data, in one line. Its other fields stay.
[[nodiscard]] std::string with_data(const sent_event& event, std::string_view data);

}  // namespace onceguard::mcp
