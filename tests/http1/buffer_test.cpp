// What a reader holds: views that stay, bytes that wait, memory that goes back.
#include <gtest/gtest.h>

#include "base/octets.hpp"
#include "http1/input_buffer.hpp"
#include "http1/reading.hpp"

namespace onceguard::http1::testing {
namespace {

void receive(reader& r, std::string_view bytes) {
  std::memcpy(r.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  r.commit(bytes.size());
}

TEST(held_bytes, of_the_head_stay_where_they_are_until_reset) {
  reader r(reader::kind::request, {});
  receive(r, "POST /target HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nfirst");
  ASSERT_EQ(r.next(), progress::head);
  const auto target = r.head().target;
  const auto fields = r.head().fields;
  std::size_t read = 0;
  for (auto step = r.next(); step != progress::end; step = r.next()) {
    ASSERT_NE(step, progress::error);
    if (step == progress::body) read += r.body().size();
    if (step == progress::need_more) {
      receive(r, std::string(std::min<std::size_t>(7001, 1'000'000 - read), 'x'));
    }
  }
  EXPECT_EQ(read, 1'000'000u);
  EXPECT_EQ(target, "/target");
  EXPECT_EQ(fields[0].value, "a");
  EXPECT_EQ(r.head().target.data(), target.data());
}

TEST(held_bytes, start_small) {
  reader r(reader::kind::request, {});
  EXPECT_EQ(r.prepare(1).size(), input_buffer::first_capacity);
  EXPECT_GE(r.prepare(10'000).size(), 10'000u);
}

TEST(held_bytes, behind_a_message_are_kept_for_the_next) {
  reader r(reader::kind::request, {});
  EXPECT_TRUE(r.idle());
  receive(r, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2");
  EXPECT_FALSE(r.idle());
  EXPECT_EQ(r.next(), progress::head);
  EXPECT_EQ(r.next(), progress::end);
  EXPECT_EQ(r.next(), progress::end) << "until reset";
  EXPECT_EQ(r.unread(), "GET /2");
  r.reset();
  r.reset();
  EXPECT_FALSE(r.idle());
  EXPECT_EQ(r.next(), progress::need_more);
  r.reset();
  receive(r, " HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(r.next(), progress::head);
  EXPECT_EQ(r.head().target, "/2");
  EXPECT_EQ(r.next(), progress::end);
  r.reset();
  EXPECT_TRUE(r.idle());
  EXPECT_EQ(r.end_of_input(), progress::need_more);
}

TEST(held_bytes, move_with_the_reader) {
  reader first(reader::kind::request, {});
  receive(first, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nh");
  ASSERT_EQ(first.next(), progress::head);
  const auto target = first.head().target;
  reader r = std::move(first);
  EXPECT_EQ(r.head().target.data(), target.data());
  EXPECT_EQ(r.next(), progress::body);
  receive(r, "i");
  EXPECT_EQ(r.next(), progress::body);
  EXPECT_EQ(r.body(), "i");
  EXPECT_EQ(r.next(), progress::end);
}

TEST(held_bytes, pinned_ones_outlive_any_growth) {
  input_buffer b;
  const auto put = [&](std::size_t count, char c) {
    std::memset(b.prepare(count).data(), c, count);
    b.commit(count);
  };
  put(100, 'h');
  const auto pinned = b.unread();
  b.pin(100);
  for (std::size_t size = 1; size < 100'000; size *= 2) {
    put(size, 'b');
    ASSERT_EQ(b.unread(), std::string(size, 'b'));
    b.consume(size / 2);
    put(7, 'c');
    ASSERT_EQ(b.unread(), std::string(size - size / 2, 'b') + std::string(7, 'c'));
    b.consume(b.unread().size());
    ASSERT_EQ(pinned, std::string(100, 'h'));
  }
  b.release();
  put(10, 'n');
  EXPECT_EQ(b.unread(), std::string(10, 'n'));
}

TEST(control_search, agrees_with_a_check_of_each_byte) {
  for (unsigned c = 0; c < 256; ++c) {
    for (std::size_t position = 0; position < 24; ++position) {
      for (const char around : {'a', '\x80', '\xff', ' ', '~'}) {
        std::string text(24, around);
        text[position] = static_cast<char>(c);
        const char* const end = text.data() + text.size();
        const char* const expected =
            std::find_if(std::as_const(text).data(), end, base::is_control);
        ASSERT_EQ(base::find_control(text.data(), end), expected) << c << " at " << position;
      }
    }
  }
}

}  // namespace
}  // namespace onceguard::http1::testing
