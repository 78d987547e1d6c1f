#include <algorithm>

#include "base/field.hpp"
#include "http1/framing.hpp"
#include "http1/input_buffer.hpp"
#include "http1/message.hpp"
#include "http1/parser.hpp"

namespace onceguard::http1 {

// One step per phase of a message. A step consumes the bytes that it returns. Undecided bytes stay
// unread and are not scanned twice (the scanner and `scanned` keep the position). A fault depends
// only on the bytes before it, never on the pieces in which they arrived.
struct reader::state {
  enum class phase : std::uint8_t {
    head,
    sized,
    chunk_line,
    chunk,
    chunk_end,
    trailers,
    until_eof,
    ended,
    failed,
  };

  state(kind kind, const limits& within) : what_read(kind), bounds(within), cut(kind) {}

  progress next() {
    piece = {};
    switch (reached) {
      case phase::head:
        return read_head();
      case phase::sized:
        return read_sized();
      case phase::chunk_line:
        return read_chunk_line();
      case phase::chunk:
        return read_chunk();
      case phase::chunk_end:
        return read_chunk_end();
      case phase::trailers:
        return read_trailers();
      case phase::until_eof:
        return take_piece(input.unread());
      case phase::ended:
        return progress::end;
      case phase::failed:
        break;
    }
    return progress::error;
  }

  progress fail(const http1::fault& why) noexcept {
    found = why;
    reached = phase::failed;
    piece = {};
    return progress::error;
  }
  progress end() noexcept {
    reached = phase::ended;
    return progress::end;
  }
  progress take_piece(std::string_view bytes) noexcept {
    if (bytes.empty()) return progress::need_more;
    piece = bytes;
    input.consume(bytes.size());
    return progress::body;
  }

  progress read_head();
  void skip_empty_line();
  std::optional<http1::fault> check_start_line(std::string_view line) const noexcept;
  progress refuse_long_head();
  progress take_head(std::string_view block);
  void enter_body() noexcept;
  std::string_view take_remaining() noexcept;
  progress read_sized();
  progress read_chunk_line();
  progress read_chunk();
  progress read_chunk_end();
  progress read_trailers();

  kind what_read;
  limits bounds;
  input_buffer input;
  block_scanner scanner{block_scanner::kind::head, bounds.header_count_max};
  parser cut;
  phase reached = phase::head;
  request_kind request_method = request_kind::another;
  bool empty_line_skipped = false;
  std::size_t scanned = 0;      ///< bytes of the chunk line that were searched
  std::uint64_t remaining = 0;  ///< bytes left of a sized body, or of a chunk
  std::string_view piece;
  http1::head parsed;
  http1::fault found;
};

progress reader::state::read_head() {
  skip_empty_line();
  for (;;) {
    const auto unread = input.unread();
    const auto block = unread.substr(0, bounds.head_bytes_max);
    switch (scanner.scan(block)) {
      case block_scanner::step::need_more:
        return block.size() < bounds.head_bytes_max ? progress::need_more : refuse_long_head();
      case block_scanner::step::start_line:
        if (auto why = check_start_line(block.substr(0, scanner.start_line_size()))) {
          return fail(*why);
        }
        break;
      case block_scanner::step::complete:
        return take_head(block.substr(0, scanner.size()));
      case block_scanner::step::refused:
        return fail(scanner.why());
    }
  }
}

/// Some clients send a line end after a body; a server should skip one (RFC 9112 section 2.2).
void reader::state::skip_empty_line() {
  if (what_read != kind::request || empty_line_skipped) return;
  if (!input.unread().starts_with("\r\n")) return;
  input.consume(2);
  empty_line_skipped = true;
}

std::optional<fault> reader::state::check_start_line(std::string_view line) const noexcept {
  if (what_read == kind::answer) return check_status_line(line);
  return check_request_line(line, bounds.target_bytes_max);
}

progress reader::state::refuse_long_head() {
  if (what_read == kind::request && scanner.in_start_line()) {
    return fail({414, "The target is too long."});
  }
  return fail({431, "The head is too long."});
}

progress reader::state::take_head(std::string_view block) {
  cut.restart();
  if (auto why = cut.cut_head(block, scanner.field_count())) return fail(*why);
  const bool request = what_read == kind::request;
  parsed.method = cut.method();
  parsed.target = cut.target();
  parsed.reason = cut.reason();
  parsed.status = request ? std::uint16_t{0} : cut.status();
  parsed.minor = cut.minor();
  parsed.fields = cut.fields();
  if (auto why = request ? frame_request(parsed) : frame_answer(parsed, request_method)) {
    parsed = {};
    return fail(*why);
  }
  input.pin(block.size());
  enter_body();
  return progress::head;
}

void reader::state::enter_body() noexcept {
  switch (parsed.body) {
    case body_kind::none:
      reached = phase::ended;
      break;
    case body_kind::sized:
      reached = phase::sized;
      remaining = *parsed.content_length;
      break;
    case body_kind::chunked:
      reached = phase::chunk_line;
      scanned = 0;
      break;
    case body_kind::until_eof:
      reached = phase::until_eof;
      break;
  }
}

std::string_view reader::state::take_remaining() noexcept {
  const auto unread = input.unread();
  const auto bytes = unread.substr(0, std::min<std::uint64_t>(remaining, unread.size()));
  remaining -= bytes.size();
  return bytes;
}

progress reader::state::read_sized() {
  if (remaining == 0) return end();
  return take_piece(take_remaining());
}

progress reader::state::read_chunk_line() {
  // The line end does not count towards the limit.
  const std::size_t most = bounds.chunk_line_bytes_max + 2;
  const auto unread = input.unread().substr(0, most);
  const auto line_feed = unread.find('\n', scanned);
  if (line_feed == unread.npos) {
    scanned = unread.size();
    if (scanned < most) return progress::need_more;
    return fail({400, "A chunk's size and extensions are too long."});
  }
  const auto line = unread.substr(0, line_feed + 1);
  if (!line.ends_with("\r\n")) {
    return fail({400, "A chunk's line has a line feed that does not follow a carriage return."});
  }
  if (auto why = check_chunk_line(line.substr(0, line.size() - 2))) return fail(*why);
  if (auto why = cut.cut_chunk_line(line)) return fail(*why);
  input.consume(line.size());
  scanned = 0;
  if (cut.chunk_size() != 0) {
    remaining = cut.chunk_size();
    reached = phase::chunk;
    return read_chunk();
  }
  reached = phase::trailers;
  scanner = {block_scanner::kind::trailers, bounds.header_count_max};
  return read_trailers();
}

progress reader::state::read_chunk() {
  const auto bytes = take_remaining();
  if (bytes.empty()) return progress::need_more;
  if (auto why = cut.cut_chunk(bytes)) return fail(*why);
  if (remaining == 0) reached = phase::chunk_end;
  return take_piece(bytes);
}

progress reader::state::read_chunk_end() {
  const auto line_end = input.unread().substr(0, 2);
  if (line_end.size() < 2) return progress::need_more;
  if (auto why = cut.cut_chunk_end(line_end)) return fail(*why);
  input.consume(line_end.size());
  reached = phase::chunk_line;
  return read_chunk_line();
}

progress reader::state::read_trailers() {
  const auto block = input.unread().substr(0, bounds.trailer_bytes_max);
  switch (scanner.scan(block)) {
    case block_scanner::step::refused:
      return fail(scanner.why());
    case block_scanner::step::complete: {
      const auto trailers = block.substr(0, scanner.size());
      if (auto why = cut.cut_trailers(trailers, scanner.field_count())) return fail(*why);
      input.consume(trailers.size());
      return end();
    }
    default:
      break;
  }
  if (block.size() < bounds.trailer_bytes_max) return progress::need_more;
  return fail({431, "The trailer section is too long."});
}

reader::reader(kind read, const limits& bounds) : state_(std::make_unique<state>(read, bounds)) {}
reader::reader(reader&&) noexcept = default;
reader& reader::operator=(reader&&) noexcept = default;
reader::~reader() = default;

std::span<char> reader::prepare(std::size_t least) {
  state_->piece = {};
  return state_->input.prepare(least);
}
void reader::commit(std::size_t count) { state_->input.commit(count); }

progress reader::next() { return state_->next(); }

progress reader::end_of_input() {
  auto& s = *state_;
  const auto step = s.next();
  if (step != progress::need_more || idle()) return step;
  if (s.reached == state::phase::until_eof) return s.end();
  return s.fail({400, "The connection ended in the middle of a message."});
}

const head& reader::head() const noexcept { return state_->parsed; }
std::string_view reader::body() const noexcept { return state_->piece; }
const fault& reader::fault() const noexcept { return state_->found; }

void reader::answers_to(std::string_view method) noexcept {
  state_->request_method = method == "HEAD"      ? request_kind::head
                           : method == "CONNECT" ? request_kind::connect
                                                 : request_kind::another;
}

void reader::reset() {
  auto& s = *state_;
  if (s.reached == state::phase::head || s.reached == state::phase::failed) return;
  if (s.reached != state::phase::ended) {
    s.fail({400, "The rest of the message before was not read."});
    return;
  }
  s.reached = state::phase::head;
  s.scanner = {block_scanner::kind::head, s.bounds.header_count_max};
  s.empty_line_skipped = false;
  s.parsed = {};
  s.piece = {};
  s.input.release();
}

std::span<const base::field> reader::trailers() const noexcept { return state_->cut.trailers(); }

std::string_view reader::unread() const noexcept { return state_->input.unread(); }

bool reader::idle() const noexcept {
  return state_->reached == state::phase::head && state_->input.unread().empty();
}

}  // namespace onceguard::http1
