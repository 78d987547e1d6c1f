// Server-sent events, however their bytes are cut.
#include "mcp/event_stream.hpp"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace onceguard::mcp {
namespace {

std::vector<sent_event> events_in(std::string_view text, std::size_t piece) {
  event_stream stream;
  std::vector<sent_event> out;
  for (std::size_t i = 0; i < text.size(); i += piece) {
    stream.add(text.substr(i, piece));
    for (sent_event next; stream.next(next);) out.push_back(next);
  }
  return out;
}

TEST(mcp_events, are_cut_at_empty_lines) {
  const std::string text =
      ": comment\n\nid: 1\nevent: message\ndata: {\"a\":\ndata:  1}\n\ndata\r\n\r\ndata:x\r\n\r\n";
  for (const std::size_t piece : {1u, 2u, 3u, 1000u}) {
    const auto got = events_in(text, piece);
    ASSERT_EQ(got.size(), 4u) << piece;
    EXPECT_EQ(got[0].data, "");
    EXPECT_EQ(got[1].data, "{\"a\":\n 1}");
    EXPECT_EQ(got[2].data, "");
    EXPECT_EQ(got[3].data, "x");
    std::string all;
    for (const auto& event : got) all += event.bytes;
    EXPECT_EQ(all, text);
  }
}

TEST(mcp_events, a_byte_order_mark_at_the_beginning_is_left_out) {
  const std::string mark = "\xEF\xBB\xBF";
  for (const std::size_t piece : {1u, 2u, 3u, 1000u}) {
    const auto got = events_in(mark + "data: 1\n\n" + mark + "data: 2\n\n", piece);
    ASSERT_EQ(got.size(), 2u) << piece;
    EXPECT_EQ(got[0].data, "1");
    EXPECT_EQ(got[1].data, "");  // a field of another name
  }
}

TEST(mcp_events, have_the_id_of_their_field) {
  const auto got = events_in("id: a\ndata: id: b\n\nid:c\r\n\r\ndata: 1\n\n", 1000);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].id, "a");
  EXPECT_EQ(got[1].id, "c");
  EXPECT_EQ(got[2].id, "");
}

TEST(mcp_events, an_unfinished_one_is_kept_back) {
  event_stream stream;
  sent_event event;
  stream.add("data: 1\n\ndata: 2\n");
  EXPECT_TRUE(stream.next(event));
  EXPECT_FALSE(stream.next(event));
  EXPECT_EQ(stream.rest(), "data: 2\n");
}

TEST(mcp_events, other_fields_stay_when_the_data_changes) {
  const auto event = events_in("id: 7\nevent: message\ndata: a\ndata: b\nretry: 5\n\n", 1000).at(0);
  EXPECT_EQ(with_data(event, "c"), "id: 7\nevent: message\nretry: 5\ndata: c\n\n");
}

TEST(mcp_events, no_byte_is_lost_however_they_are_cut) {
  const bool holds = rc::check([] {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::element('d', 'a', 't', ':', ' ', '\n', '\r', 'x'));
    const auto piece = static_cast<std::size_t>(*rc::gen::inRange(1, 9));
    event_stream stream;
    std::string out;
    for (std::size_t i = 0; i < text.size(); i += piece) {
      stream.add(std::string_view(text).substr(i, piece));
      for (sent_event next; stream.next(next);) out += next.bytes;
    }
    RC_ASSERT(out + stream.rest() == text);
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace onceguard::mcp
