// Feeds bytes to a reader in any pieces, and says what it made of them.
#pragma once
#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http1/message.hpp"

namespace onceguard::http1::testing {

using namespace std::literals;

using fields_t = std::vector<std::pair<std::string, std::string>>;

/// A message, with all that the reader said about it.
struct message {
  std::string method, target, reason;
  unsigned status = 0;
  unsigned minor = 1;
  fields_t fields;
  body_kind kind = body_kind::none;
  std::optional<std::uint64_t> content_length;
  bool keep_alive = true;
  bool expect_continue = false;
  bool upgrade = false;
  std::string body;
  bool complete = false;
  friend bool operator==(const message&, const message&) = default;
};

struct reading {
  std::vector<message> messages;
  unsigned fault_status = 0;  ///< 0: no fault
  std::string fault;
  std::string rest;  ///< behind a message that changes the protocol
  friend bool operator==(const reading&, const reading&) = default;
};

inline message copy_of(const head& head) {
  message made;
  made.method = head.method;
  made.target = head.target;
  made.reason = head.reason;
  made.status = head.status;
  made.minor = head.minor;
  for (const auto& f : head.fields) made.fields.emplace_back(f.name, f.value);
  made.kind = head.body;
  made.content_length = head.content_length;
  made.keep_alive = head.keep_alive;
  made.expect_continue = head.expect_continue;
  made.upgrade = head.upgrade;
  return made;
}

/// How many bytes come next, of those that are left.
using splitter = std::function<std::size_t(std::size_t)>;
inline std::size_t whole(std::size_t left) { return left; }
inline std::size_t bytewise(std::size_t) { return 1; }

struct input {
  reader::kind kind = reader::kind::request;
  std::string_view bytes;
  limits bounds = {};
  std::string_view method = "GET";  ///< answers
};

/// Reads to the first fault, the first change of protocol, or the end of the connection. A head
/// whose views did not stay as they were until the end of its message is a fault as well.
inline reading read(const input& input, const splitter& next_piece = whole) {
  reader r(input.kind, input.bounds);
  r.answers_to(input.method);
  reading made;
  auto left = input.bytes;
  bool ended = false;
  for (;;) {
    const auto step = ended ? r.end_of_input() : r.next();
    switch (step) {
      case progress::need_more: {
        if (ended) return made;
        if (left.empty()) {
          ended = true;
          break;
        }
        const auto piece = left.substr(0, std::max<std::size_t>(1, next_piece(left.size())));
        left.remove_prefix(piece.size());
        std::memcpy(r.prepare(piece.size()).data(), piece.data(), piece.size());
        r.commit(piece.size());
        break;
      }
      case progress::head:
        made.messages.push_back(copy_of(r.head()));
        break;
      case progress::body:
        made.messages.back().body += r.body();
        break;
      case progress::end: {
        auto now = copy_of(r.head());
        auto& message = made.messages.back();
        now.body = message.body;
        if (now != message) {
          made.fault = "the head changed while its body was read";
          return made;
        }
        message.complete = true;
        if (message.upgrade) {
          made.rest = std::string(r.unread()) + std::string(left);
          return made;
        }
        r.reset();
        break;
      }
      case progress::error:
        made.fault_status = r.fault().status;
        made.fault = r.fault().text;
        return made;
    }
  }
}

inline reading read_requests(std::string_view bytes, const limits& bounds = {}) {
  return read({reader::kind::request, bytes, bounds});
}
inline reading read_answers(std::string_view bytes, std::string_view method = "GET",
                            const limits& bounds = {}) {
  return read({reader::kind::answer, bytes, bounds, method});
}

}  // namespace onceguard::http1::testing
