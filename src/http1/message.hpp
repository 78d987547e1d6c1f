// HTTP/1.1 messages over byte buffers (RFC 9112): llhttp in strict mode cuts the bytes, and a
// policy of ours refuses what two parsers might read differently. No sockets, and no allocation
// per header.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/field.hpp"

namespace onceguard::http1 {

/// Inclusive: exactly the limit passes. A message beyond one is refused, never cut short.
struct limits {
  std::size_t head_bytes_max = 64 * 1024;  ///< start line and header section, with line ends
  std::size_t header_count_max = 100;      ///< of the head, and of the trailers
  std::size_t target_bytes_max = 16 * 1024;
  std::size_t chunk_line_bytes_max = 1024;  ///< a chunk's size and extensions, without the line end
  std::size_t trailer_bytes_max = 8 * 1024;  ///< with line ends
};

enum class body_kind : std::uint8_t {
  none,   ///< no body, or one of length 0
  sized,  ///< Content-Length
  chunked,
  until_eof,  ///< answers only: delimited by the end of the connection
};

/// A parsed head. Views stay valid until the reader's next reset().
struct head {
  std::string_view method;   ///< requests: as sent ("POST")
  std::string_view target;   ///< requests: as sent; in absolute form its authority equals Host
  std::uint16_t status = 0;  ///< answers
  std::string_view reason;   ///< answers
  std::uint8_t minor = 1;    ///< HTTP/1.minor
  std::span<const base::field> fields;
  body_kind body = body_kind::none;
  std::optional<std::uint64_t> content_length;  ///< as sent; mere information to HEAD and 304
  bool keep_alive = true;  ///< may the connection be used again, as far as this head says
  bool expect_continue = false;
  /// Requests: Connection: upgrade with an Upgrade field in HTTP/1.1, or CONNECT. Answers: 101, or
  /// 2xx to CONNECT: what is unread after the end belongs to the other protocol.
  bool upgrade = false;
};

enum class progress : std::uint8_t {
  need_more,  ///< prepare, read, commit, and call next() again
  head,       ///< head() is there
  body,       ///< body() is a piece of the (decoded) body, valid until next() or prepare()
  end,        ///< the message is complete; what follows it stays in the buffer for the next one
  error,      ///< fault() says what; the connection is of no further use
};

/// What was wrong, in words for the peer and as the status that fits it.
struct fault {
  /// 400, 414 (target), 431 (head or trailers), 501 (method, transfer coding), 505.
  std::uint16_t status = 400;
  std::string_view what;  ///< a constant text: a sentence for a person
};
constexpr fault bad(std::string_view description) noexcept { return {400, description}; }

/// Reads one message after the other from a connection's bytes.
///
/// What two parsers might read differently is refused, never mended: CR, LF or NUL by itself and
/// other control characters, folded lines, more than one space in the request line, a space before
/// a colon, Transfer-Encoding but exactly one "chunked" (and that in HTTP/1.1, without
/// Content-Length), more than one Content-Length or Host even if equal, an empty Host, a fragment
/// or a backslash in the target, user information, and an authority in the target that is not Host.
/// One empty line before a request is skipped (RFC 9112 2.2). Trailer fields are checked, and
/// kept apart. A fault, and all else, depends on the bytes alone, never on how they were cut.
///
///   while (r.next() == progress::need_more) { n = read(r.prepare(4096)); r.commit(n); }
///
/// Thread-safety: one thread at a time.
class reader {
 public:
  enum class kind : std::uint8_t { request, answer };
  reader(kind kind, const limits& bounds);
  reader(reader&&) noexcept;
  reader& operator=(reader&&) noexcept;
  ~reader();

  /// Room for at least `least` more bytes.
  [[nodiscard]] std::span<char> prepare(std::size_t least);
  void commit(std::size_t count);

  [[nodiscard]] progress next();
  /// The connection ended, after next() said need_more. need_more where nothing of a message had
  /// come (a clean end); end for a complete until_eof answer; error for a truncated message.
  [[nodiscard]] progress end_of_input();

  [[nodiscard]] const http1::head& head() const noexcept;
  [[nodiscard]] std::string_view body() const noexcept;
  [[nodiscard]] const http1::fault& fault() const noexcept;

  /// The trailer fields of a chunked message, once next() said end, until prepare() or reset().
  [[nodiscard]] std::span<const base::field> trailers() const noexcept;

  /// Answers: the method that was asked with (HEAD and 1xx, 204, 304 have no body; 2xx to CONNECT).
  /// Before next(); holds until set again.
  void answers_to(std::string_view method) noexcept;

  /// Forgets the message that ended, keeps the bytes behind it. An answer of 1xx (but 101) ends
  /// at once and is followed by the next one. In the middle of a message it makes the reader fail,
  /// as nobody knows where the next one begins.
  void reset();
  /// Bytes that were received and not consumed (pipelined, or of a tunnel after an upgrade).
  [[nodiscard]] std::string_view unread() const noexcept;
  /// Has anything of a next message come? False right after reset() with an empty buffer.
  [[nodiscard]] bool idle() const noexcept;
  /// Gives memory back while idle(), else does nothing: holds no buffer after it.
  void shrink();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Would a head with these be framed as we want it? Used by the serialiser's asserts and for
/// values that come from configuration: a field value without CR, LF, NUL and control characters.
[[nodiscard]] bool is_field_value(std::string_view text) noexcept;
[[nodiscard]] bool is_token(std::string_view text) noexcept;

// The serialiser: appends to a buffer that the caller reuses. What would break a line or the
// framing (a CR, LF, NUL or other control character, a name that is no token) ends the process.
void append_request_line(std::string& out, std::string_view method, std::string_view target);
void append_status_line(std::string& out, std::uint16_t status, std::string_view reason = {});
void append_field(std::string& out, std::string_view name, std::string_view value);
void append_content_length(std::string& out, std::uint64_t length);
inline void append_end_of_head(std::string& out) { out.append("\r\n"); }
/// "Date: …\r\n" in IMF-fixdate, formatted once a second per thread; `wall_seconds` since 1970.
void append_date(std::string& out, std::int64_t wall_seconds);
/// A chunk: size, bytes, line ends. Nothing for an empty piece (that would end the body).
void append_chunk(std::string& out, std::string_view piece);
inline void append_last_chunk(std::string& out) { out.append("0\r\n\r\n"); }

/// The registered reason phrase, or "Unknown".
[[nodiscard]] std::string_view reason_of(std::uint16_t status) noexcept;

}  // namespace onceguard::http1
