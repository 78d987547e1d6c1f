// HTTP/1.1 messages over byte buffers (RFC 9112). llhttp parses the bytes in strict mode; further
// rules refuse messages that two parsers might read differently. No sockets, and no allocation per
// header.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/field.hpp"
#include "base/octets.hpp"

namespace onceguard::http1 {

using base::is_field_value;
using base::is_token;

/// Inclusive limits. A message beyond a limit is refused, never truncated.
struct limits {
  std::size_t head_bytes_max = 64 * 1024;  ///< start line and header section, including line ends
  std::size_t header_count_max = 100;      ///< of the head, and separately of the trailers
  std::size_t target_bytes_max = 16 * 1024;
  std::size_t chunk_line_bytes_max = 1024;  ///< a chunk's size and extensions, without the line end
  std::size_t trailer_bytes_max = 8 * 1024;  ///< including line ends
};

enum class body_kind : std::uint8_t {
  none,   ///< no body, or a body of length 0
  sized,  ///< Content-Length
  chunked,
  until_eof,  ///< answers only: delimited by the end of the connection
};

/// A parsed head. Views stay valid until the reader's next reset().
struct head {
  std::string_view method;   ///< requests: as sent ("POST")
  std::string_view target;   ///< requests: as sent; the authority of an absolute form equals Host
  std::uint16_t status = 0;  ///< answers
  std::string_view reason;   ///< answers
  std::uint8_t minor = 1;    ///< HTTP/1.minor
  std::span<const base::field> fields;
  body_kind body = body_kind::none;
  std::optional<std::uint64_t> content_length;  ///< as sent; no body length in answers to HEAD and
                                                ///< in 304
  bool keep_alive = true;  ///< whether this head allows another message on the connection
  bool expect_continue = false;
  /// Requests: Connection: upgrade with an Upgrade field in HTTP/1.1, or CONNECT. Answers: 101, or
  /// 2xx to CONNECT: unread bytes after the end belong to the other protocol.
  bool upgrade = false;
};

enum class progress : std::uint8_t {
  need_more,  ///< prepare, read, commit, and call next() again
  head,       ///< head() is available
  body,       ///< body() is a piece of the decoded body, valid until next() or prepare()
  end,        ///< the message is complete; the next message's bytes stay in the buffer
  error,      ///< see fault(); the connection can't be used any more
};

/// A fault in a message, described for the peer, with the matching status.
struct fault {
  /// 400, 414 (target), 431 (head or trailers), 501 (method, transfer coding), 505.
  std::uint16_t status = 400;
  std::string_view text;  ///< a constant text: a sentence for a person
};
constexpr fault bad(std::string_view description) noexcept { return {400, description}; }

/// Reads the messages of a connection from its bytes.
///
/// Refuses everything that two parsers might read differently, and never repairs a message. Refused
/// are: CR, LF or NUL alone and other control characters, folded lines, more than one space in the
/// request line, a space before a colon, a Transfer-Encoding other than exactly one "chunked" (in
/// HTTP/1.1, without Content-Length), more than one Content-Length or Host even if equal, an empty
/// Host, a fragment or a backslash in the target, user information, and an authority in the target
/// that differs from Host. One empty line before a request is skipped (RFC 9112 section 2.2).
/// Trailer fields are checked, and kept separate. All results, including faults, depend only on the
/// bytes, never on the pieces in which they arrive.
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

  /// Space for at least `least` more bytes.
  [[nodiscard]] std::span<char> prepare(std::size_t least);
  void commit(std::size_t count);

  [[nodiscard]] progress next();
  /// Call when the connection has ended after next() returned need_more. Returns need_more if no
  /// bytes of a message had arrived (a clean end), end for a complete until_eof answer, error for a
  /// truncated message.
  [[nodiscard]] progress end_of_input();

  [[nodiscard]] const http1::head& head() const noexcept;
  [[nodiscard]] std::string_view body() const noexcept;
  [[nodiscard]] const http1::fault& fault() const noexcept;

  /// The trailer fields of a chunked message, after next() returned end, until prepare() or
  /// reset().
  [[nodiscard]] std::span<const base::field> trailers() const noexcept;

  /// Answers: sets the request's method (answers to HEAD and 1xx, 204, 304 have no body; 2xx to
  /// CONNECT). Call before next(); applies to all answers until set again.
  void answers_to(std::string_view method) noexcept;

  /// Forgets the message that has ended and keeps the bytes after it. A 1xx answer (except 101)
  /// ends at once and is followed by the next answer. A call in the middle of a message makes the
  /// reader fail, as the beginning of the next message is unknown.
  void reset();
  /// Bytes that were received and not consumed (pipelined requests, or the tunnel after an
  /// upgrade).
  [[nodiscard]] std::string_view unread() const noexcept;
  /// Whether no bytes of a next message have arrived. True right after reset() with an empty
  /// buffer.
  [[nodiscard]] bool idle() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// The serialiser appends to a buffer that the caller reuses. Input that would break a line or the
// framing (a CR, LF, NUL or other control character, a name that is no token) ends the process.
void append_request_line(std::string& out, std::string_view method, std::string_view target);
void append_status_line(std::string& out, std::uint16_t status, std::string_view reason = {});
void append_field(std::string& out, std::string_view name, std::string_view value);
void append_content_length(std::string& out, std::uint64_t length);
inline void append_end_of_head(std::string& out) { out.append("\r\n"); }
/// "Date: …\r\n" in IMF-fixdate; `wall_seconds` since 1970.
void append_date(std::string& out, std::int64_t wall_seconds);
/// A chunk: size, bytes, line ends. Appends nothing for an empty piece, which would end the body.
void append_chunk(std::string& out, std::string_view piece);
inline void append_last_chunk(std::string& out) { out.append("0\r\n\r\n"); }

/// The registered reason phrase, or "Unknown".
[[nodiscard]] std::string_view reason_of(std::uint16_t status) noexcept;

}  // namespace onceguard::http1
