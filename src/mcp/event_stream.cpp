#include "mcp/event_stream.hpp"

#include <utility>

namespace onceguard::mcp {
namespace {

/// The end of the line that begins there: of its text, and with its line break, which is CR LF, CR
/// or LF. False: the line is not whole yet.
bool end_of_line(std::string_view text, std::size_t begin, std::size_t& end, std::size_t& next) {
  end = text.find_first_of("\r\n", begin);
  if (end == text.npos) return false;
  next = end + 1;
  if (text[end] == '\n') return true;
  // A CR at the very end may be the first half of a line break.
  if (next == text.size()) return false;
  if (text[next] == '\n') ++next;
  return true;
}

/// The value of a line with this field. False: it is another line.
bool value_in(std::string_view line, std::string_view field, std::string_view& value) {
  if (!line.starts_with(field)) return false;
  value = line.substr(field.size());
  if (value.empty()) return true;
  if (value.front() != ':') return false;
  value.remove_prefix(1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  return true;
}

bool data_in(std::string_view line, std::string_view& value) {
  return value_in(line, "data", value);
}

}  // namespace

void event_stream::add(std::string_view bytes) {
  // One at the begin is no part of the stream (HTML standard, server-sent events).
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  held_ += bytes;
  if (begun_ || (held_.size() < mark.size() && mark.starts_with(held_))) return;
  begun_ = true;
  if (held_.starts_with(mark)) held_.erase(0, mark.size());
}

bool event_stream::next(sent_event& out) {
  std::size_t begin = searched_;
  std::size_t end = 0;
  std::size_t after = 0;
  while (end_of_line(held_, begin, end, after)) {
    if (end != begin) {
      begin = searched_ = after;
      continue;
    }
    out.bytes = held_.substr(0, after);
    out.data.clear();
    out.id.clear();
    bool first = true;
    for (std::size_t line = 0; line < begin;) {
      std::size_t stop = 0;
      std::size_t follow = 0;
      if (!end_of_line(out.bytes, line, stop, follow)) break;
      std::string_view value;
      const auto text = std::string_view(out.bytes).substr(line, stop - line);
      if (data_in(text, value)) {
        if (!std::exchange(first, false)) out.data += '\n';
        out.data += value;
      } else if (value_in(text, "id", value)) {
        out.id = value;
      }
      line = follow;
    }
    held_.erase(0, after);
    searched_ = 0;
    return true;
  }
  return false;
}

std::string with_data(const sent_event& event, std::string_view data) {
  std::string out;
  const std::string_view bytes(event.bytes);
  for (std::size_t line = 0; line < bytes.size();) {
    std::size_t stop = 0;
    std::size_t follow = 0;
    if (!end_of_line(bytes, line, stop, follow)) {
      stop = bytes.size() - 1;
      follow = bytes.size();
    }
    std::string_view value;
    const auto text = bytes.substr(line, stop - line);
    if (!text.empty() && !data_in(text, value)) out += bytes.substr(line, follow - line);
    line = follow;
  }
  out += "data: ";
  out += data;
  return out + "\n\n";
}

}  // namespace onceguard::mcp
