// Boost.Beast as a second opinion: on valid messages both agree, and what Beast lets through of
// that which two parsers read differently, ours refuses.
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/ascii.hpp"
#include "http1/generated.hpp"
#include "http1/refused_requests.hpp"

namespace onceguard::http1::testing {
namespace {

namespace beast = boost::beast::http;

template <bool Request>
struct beast_reading {
  beast::parser<Request, beast::string_body> parser;
  boost::system::error_code error;

  explicit beast_reading(std::string_view bytes) {
    parser.eager(true);
    while (!bytes.empty() && !parser.is_done()) {
      const auto taken = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
      bytes.remove_prefix(taken);
      if (error || taken == 0) break;
    }
    if (error == beast::error::need_more) error = {};
    if (!error && parser.is_header_done() && !parser.is_done() && parser.need_eof()) {
      parser.put_eof(error);
    }
  }

  bool head_accepted() const { return !error && parser.is_header_done(); }

  fields_t fields() const {
    fields_t all;
    for (const auto& f : parser.get()) {
      all.emplace_back(std::string(f.name_string()), std::string(f.value()));
    }
    return all;
  }
};

/// Beast keeps fields of one name together; ours keeps them as they came.
fields_t by_name(fields_t fields) {
  const auto before = [](const auto& a, const auto& b) {
    return std::ranges::lexicographical_compare(a.first, b.first, {}, base::ascii_lower,
                                                base::ascii_lower);
  };
  std::ranges::stable_sort(fields, before);
  return fields;
}

RC_GTEST_PROP(beast, agrees_on_any_valid_request, ()) {
  const auto made = *gen::request();
  const beast_reading<true> theirs(made.bytes);
  const auto ours = read({made.kind, made.bytes});
  RC_ASSERT(!theirs.error);
  RC_ASSERT(theirs.parser.is_done());
  RC_ASSERT(ours.messages.size() == 1u);
  const auto& message = ours.messages[0];
  RC_ASSERT(message.method == std::string(theirs.parser.get().method_string()));
  RC_ASSERT(message.target == std::string(theirs.parser.get().target()));
  RC_ASSERT(message.body == theirs.parser.get().body());
  RC_ASSERT(message.keep_alive == theirs.parser.keep_alive());
  RC_ASSERT((message.kind == body_kind::chunked) == theirs.parser.chunked());
  RC_ASSERT(by_name(message.fields) == by_name(theirs.fields()));
}

RC_GTEST_PROP(beast, agrees_on_any_valid_answer, ()) {
  const auto made = *gen::answer();
  const beast_reading<false> theirs(made.bytes);
  const auto ours = read({made.kind, made.bytes});
  RC_ASSERT(!theirs.error);
  RC_ASSERT(theirs.parser.is_done());
  RC_ASSERT(ours.messages.size() == 1u);
  const auto& message = ours.messages[0];
  RC_ASSERT(message.status == theirs.parser.get().result_int());
  RC_ASSERT(message.reason == std::string(theirs.parser.get().reason()));
  RC_ASSERT(message.body == theirs.parser.get().body());
  RC_ASSERT(message.keep_alive == theirs.parser.keep_alive());
  RC_ASSERT(by_name(message.fields) == by_name(theirs.fields()));
}

/// Where ours takes a message after one byte was changed, Beast must read the very same in it.
RC_GTEST_PROP(beast, reads_nothing_else_in_what_ours_accepts, ()) {
  auto made = *gen::request();
  const auto position = *rc::gen::inRange<std::size_t>(0, made.bytes.size());
  made.bytes[position] = *rc::gen::oneOf(rc::gen::arbitrary<char>(),
                                         rc::gen::element('\r', '\n', ' ', '\t', ':', ',', '\0'));
  const auto ours = read({made.kind, made.bytes});
  if (ours.messages.size() != 1 || !ours.messages[0].complete) return;
  const beast_reading<true> theirs(made.bytes);
  if (theirs.error) return;  // Beast may refuse what it likes
  RC_ASSERT(ours.messages[0].target == std::string(theirs.parser.get().target()));
  RC_ASSERT(ours.messages[0].body == theirs.parser.get().body());
  RC_ASSERT(ours.messages[0].fields.size() == theirs.fields().size());
}

TEST(beast, lets_through_what_ours_refuses) {
  for (const auto& row : refused_requests) {
    const beast_reading<true> theirs(row.bytes);
    EXPECT_EQ(theirs.head_accepted(), row.beast_takes_it) << row.name << ": " << theirs.error;
    EXPECT_NE(read_requests(row.bytes).fault_status, 0u) << row.name;
  }
}

}  // namespace
}  // namespace onceguard::http1::testing
