// The lines of the log, put together piece by piece.
#include "cli/log/line_buffer.hpp"

#include <string>

#include <gtest/gtest.h>

namespace onceguard::cli::log {
namespace {

bool needs_no_escape(unsigned char byte) {
  return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

TEST(line_buffer, finds_every_byte_that_needs_an_escape_at_every_position) {
  for (std::size_t size = 0; size <= 20; ++size) {
    const std::string plain(size, 'a');
    EXPECT_TRUE(line_buffer::is_plain(plain));
    for (std::size_t position = 0; position < size; ++position) {
      for (unsigned byte = 0; byte < 256; ++byte) {
        auto text = plain;
        text[position] = static_cast<char>(byte);
        EXPECT_EQ(line_buffer::is_plain(text), needs_no_escape(static_cast<unsigned char>(byte)))
            << "byte " << byte << " at " << position << " of " << size;
      }
    }
  }
}

TEST(line_buffer, takes_the_plain_neighbours_of_plain_bytes_for_plain) {
  for (unsigned first = 0x20; first < 0x7f; ++first) {
    for (unsigned second = 0x20; second < 0x7f; ++second) {
      std::string text(8, 'a');
      text[3] = static_cast<char>(first);
      text[4] = static_cast<char>(second);
      EXPECT_EQ(line_buffer::is_plain(text),
                needs_no_escape(static_cast<unsigned char>(first)) &&
                    needs_no_escape(static_cast<unsigned char>(second)))
          << text;
    }
  }
}

TEST(line_buffer, keeps_texts_of_all_lengths) {
  line_buffer out;
  std::string expected;
  for (std::size_t size = 0; size < 3'000; size = size < 40 ? size + 1 : size * 2) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>('a' + (i + size) % 26);
    out.add(text);
    out.add('|');
    expected += text + '|';
  }
  EXPECT_EQ(out.view(), expected);
  out.clear();
  EXPECT_EQ(out.view(), "");
}

TEST(line_buffer, shows_numbers_and_milliseconds) {
  line_buffer out;
  out.add_number(-9'223'372'036'854'775'807 - 1);
  for (const auto us : {-5, 0, 7, 60'000, 1'234'567}) {
    out.add(' ');
    out.add_milliseconds(std::chrono::microseconds(us));
  }
  EXPECT_EQ(out.view(), "-9223372036854775808 0.000 0.000 0.007 60.000 1234.567");
}

}  // namespace
}  // namespace onceguard::cli::log
