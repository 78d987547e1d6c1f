// Arbitrary valid requests and answers, written by the serialiser.
#pragma once
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "base/ascii.hpp"
#include "http1/reading.hpp"

namespace onceguard::http1::testing {

struct generated {
  reader::kind kind = reader::kind::request;
  message expected;
  std::string bytes;
};

inline void showValue(const generated& made, std::ostream& out) { out << made.bytes; }

namespace gen {

inline rc::Gen<std::string> text_of(std::string_view alphabet, std::size_t longest) {
  using namespace rc;
  return rc::gen::resize(static_cast<int>(longest), rc::gen::container<std::string>(
                                                        rc::gen::elementOf(std::string(alphabet))));
}

inline rc::Gen<std::pair<std::string, std::string>> field() {
  // The prefix keeps clear of fields that mean something to the reader.
  const auto name = rc::gen::map(text_of("abcXYZ019!#$%&'*+-.^_`|~", 20),
                                 [](std::string text) { return "X-" + text; });
  const auto value =
      rc::gen::map(text_of("abcXYZ019 \t,;:=\"\\()<>@/?{}[]#\xc3\xa4\x80\xff", 60),
                   [](const std::string& text) { return std::string(base::trim(text)); });
  return rc::gen::pair(name, value);
}

inline std::string write_body(message& made, std::string& head) {
  std::string written;
  switch (made.kind) {
    case body_kind::sized:
      made.content_length = made.body.size();
      made.fields.emplace_back("Content-Length", std::to_string(made.body.size()));
      append_content_length(head, made.body.size());
      written = made.body;
      break;
    case body_kind::chunked: {
      made.fields.emplace_back("Transfer-Encoding", "chunked");
      append_field(head, "Transfer-Encoding", "chunked");
      for (std::string_view left = made.body; !left.empty();) {
        const auto size = *rc::gen::inRange<std::size_t>(1, left.size() + 1);
        append_chunk(written, left.substr(0, size));
        left.remove_prefix(size);
      }
      append_last_chunk(written);
      break;
    }
    default:
      written = made.body;
      break;
  }
  append_end_of_head(head);
  return written;
}

inline void write_fields(message& made, std::string& head) {
  for (const auto& [name, value] : made.fields) append_field(head, name, value);
}

inline rc::Gen<generated> request() {
  return rc::gen::exec([] {
    generated made;
    auto& expected = made.expected;
    expected.method = *rc::gen::element<std::string>("GET", "POST", "PUT", "DELETE", "PATCH",
                                                     "OPTIONS", "HEAD", "M-SEARCH", "UNLINK");
    expected.target = "/" + *text_of("abcXYZ019/?&=%.-_~!$'()*+,;:@[]{}|\"<>^`", 60);
    append_request_line(made.bytes, expected.method, expected.target);
    expected.fields = *rc::gen::resize(8, rc::gen::container<fields_t>(field()));
    expected.fields.emplace_back("Host", "example.com:8080");
    write_fields(expected, made.bytes);
    expected.kind = *rc::gen::element(body_kind::none, body_kind::sized, body_kind::chunked);
    if (expected.kind != body_kind::none) {
      expected.body = *rc::gen::resize(200, rc::gen::nonEmpty<std::string>());
    }
    made.bytes += write_body(expected, made.bytes);
    expected.complete = true;
    return made;
  });
}

inline rc::Gen<generated> answer() {
  return rc::gen::exec([] {
    generated made;
    made.kind = reader::kind::answer;
    auto& expected = made.expected;
    expected.status = *rc::gen::element(200u, 201u, 299u, 400u, 404u, 422u, 500u, 503u, 599u);
    expected.reason = "R" + *text_of("abc XYZ\t\xc3\xa4", 20);
    append_status_line(made.bytes, static_cast<std::uint16_t>(expected.status), expected.reason);
    expected.fields = *rc::gen::resize(8, rc::gen::container<fields_t>(field()));
    write_fields(expected, made.bytes);
    expected.kind = *rc::gen::element(body_kind::sized, body_kind::chunked, body_kind::until_eof);
    expected.body = *rc::gen::resize(200, rc::gen::nonEmpty<std::string>());
    expected.keep_alive = expected.kind != body_kind::until_eof;
    made.bytes += write_body(expected, made.bytes);
    expected.complete = true;
    return made;
  });
}

}  // namespace gen
}  // namespace onceguard::http1::testing
