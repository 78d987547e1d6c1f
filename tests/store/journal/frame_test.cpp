// The bytes of a journal.
#include "store/journal/frame.hpp"

#include <gtest/gtest.h>

#include "store/journal/state.hpp"

namespace onceguard::testing {
namespace {

using journal::append_frame;
using journal::body_fits;
using journal::frame_header;
using journal::frame_header_size;
using journal::read_header;
using journal::segment_header;
using journal::segment_header_size;

frame_header sample() {
  frame_header out;
  out.state = 4;
  out.group = 7;
  out.number = 1'000'000'000'000;
  out.boot = 3;
  out.id.fill(0xab);
  out.expires_at = -5;
  return out;
}

TEST(journal_frame_test, a_frame_is_read_as_it_was_written) {
  auto header = sample();
  std::string bytes;
  append_frame(bytes, 9, header, "the body");
  EXPECT_EQ(bytes.size(), header.whole_size());
  EXPECT_EQ(bytes.size() % journal::frame_step, 0u);
  const auto read = read_header(bytes, 9);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, journal::frame_kind::record);
  EXPECT_EQ(read->state, 4);
  EXPECT_EQ(read->group, 7u);
  EXPECT_EQ(read->number, 1'000'000'000'000u);
  EXPECT_EQ(read->boot, 3u);
  EXPECT_EQ(read->id, header.id);
  EXPECT_EQ(read->expires_at, -5);
  EXPECT_EQ(read->body_size, 8u);
  EXPECT_TRUE(body_fits(*read, 9, std::string_view(bytes).substr(frame_header_size, 8)));
}

TEST(journal_frame_test, each_flipped_bit_of_a_frame_is_noticed) {
  auto header = sample();
  std::string bytes;
  append_frame(bytes, 9, header, "the body");
  for (std::size_t i = 0; i < frame_header_size + 8; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      auto other = bytes;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      const auto read = read_header(other, 9);
      EXPECT_TRUE(!read ||
                  !body_fits(*read, 9, std::string_view(other).substr(frame_header_size, 8)))
          << i << "." << bit;
      EXPECT_EQ(read.has_value(), i >= frame_header_size);
    }
  }
}

TEST(journal_frame_test, a_frame_fits_in_its_own_segment_only) {
  auto header = sample();
  std::string bytes;
  append_frame(bytes, 9, header, "the body");
  EXPECT_FALSE(read_header(bytes, 10));
  EXPECT_FALSE(body_fits(header, 10, "the body"));
}

TEST(journal_frame_test, zeros_are_no_frame_and_no_segment) {
  const std::string zeros(frame_header_size, '\0');
  EXPECT_FALSE(read_header(zeros, 0));
  EXPECT_FALSE(journal::decode_segment_header(zeros));
}

TEST(journal_frame_test, each_flipped_bit_of_a_segments_header_is_noticed) {
  segment_header header;
  header.identity = std::string(16, 'i');
  header.number = 12;
  header.former_end = 4'096;
  const auto bytes = journal::encode(header);
  ASSERT_EQ(bytes.size(), segment_header_size);
  const auto read = journal::decode_segment_header(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->identity, header.identity);
  EXPECT_EQ(read->number, 12u);
  EXPECT_EQ(read->former_end, 4'096u);
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    auto other = bytes;
    other[i / 8] = static_cast<char>(other[i / 8] ^ (1 << i % 8));
    EXPECT_FALSE(journal::decode_segment_header(other)) << i;
  }
}

TEST(journal_frame_test, a_state_is_read_as_it_was_written) {
  journal::journal_state state;
  state.last_token = ~std::uint64_t{0};
  state.granted = 2;
  state.forgotten = 3;
  state.next_number = 4;
  state.last_wall = -5;
  state.boot = 6;
  state.boot_id = "the boot";
  state.wall = {-7, true, 8, 9};
  const auto read = journal::decode_state(journal::encode(state));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->last_token, state.last_token);
  EXPECT_EQ(read->granted, 2u);
  EXPECT_EQ(read->forgotten, 3u);
  EXPECT_EQ(read->next_number, 4u);
  EXPECT_EQ(read->last_wall, -5);
  EXPECT_EQ(read->boot, 6u);
  EXPECT_EQ(read->boot_id, "the boot");
  EXPECT_EQ(read->wall, state.wall);
  EXPECT_FALSE(journal::decode_state("short"));
}

}  // namespace
}  // namespace onceguard::testing
