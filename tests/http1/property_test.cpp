// What the serialiser writes, the reader reads, in whatever pieces.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/octets.hpp"
#include "http1/generated.hpp"

namespace onceguard::http1::testing {
namespace {

splitter arbitrary_pieces() {
  const auto sizes = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 40)));
  return
      [sizes, turn = std::size_t{0}](std::size_t) mutable { return sizes[turn++ % sizes.size()]; };
}

RC_GTEST_PROP(round_trip, of_any_request, ()) {
  const auto made = *gen::request();
  const auto got = read({made.kind, made.bytes}, arbitrary_pieces());
  RC_ASSERT(got.fault == "");
  RC_ASSERT(got.messages == std::vector{made.expected});
}

RC_GTEST_PROP(round_trip, of_any_answer, ()) {
  const auto made = *gen::answer();
  const auto got = read({made.kind, made.bytes}, arbitrary_pieces());
  RC_ASSERT(got.fault == "");
  RC_ASSERT(got.messages == std::vector{made.expected});
}

RC_GTEST_PROP(round_trip, of_pipelined_requests, ()) {
  const auto many = *rc::gen::resize(5, rc::gen::container<std::vector<generated>>(gen::request()));
  std::string bytes;
  std::vector<message> expected;
  for (const auto& made : many) {
    bytes += made.bytes;
    expected.push_back(made.expected);
  }
  const auto got = read({reader::kind::request, bytes}, arbitrary_pieces());
  RC_ASSERT(got.fault == "");
  RC_ASSERT(got.messages == expected);
}

/// One byte that is changed, wherever: read or refused, the same in any pieces.
RC_GTEST_PROP(spoilt_message, is_read_the_same_in_any_pieces, ()) {
  auto made = *rc::gen::oneOf(gen::request(), gen::answer());
  const auto position = *rc::gen::inRange<std::size_t>(0, made.bytes.size());
  made.bytes[position] = *rc::gen::oneOf(rc::gen::arbitrary<char>(),
                                         rc::gen::element('\r', '\n', ' ', '\t', ':', ',', '\0'));
  const input input{made.kind, made.bytes};
  RC_ASSERT(read(input, arbitrary_pieces()) == read(input));
}

RC_GTEST_PROP(field_value, has_no_control_but_tabs, (const std::string& text)) {
  bool clean = true;
  for (const char c : text) clean = clean && (c == '\t' || !base::is_control(c));
  RC_ASSERT(is_field_value(text) == clean);
}

}  // namespace
}  // namespace onceguard::http1::testing
