#include "core/record_codec.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "support/record_bytes.hpp"

namespace onceguard {
namespace {

using namespace std::string_literals;
using testing::as_format_1;
using testing::with_xxh3;

record sample() {
  auto about = std::make_shared<subject>();
  about->scope.fill(7);
  about->scope_kind = "header:x-tenant";
  about->key = "order-1";
  about->method = "POST";
  about->path = "/v1/payments";
  about->route = "/v1";
  about->print.method = "json omit /nonce";
  about->print.value.fill(9);
  about->run_timeout = milliseconds(60'000);
  auto kept = std::make_shared<answer>();
  kept->status = 201;
  kept->headers = {{"Link", "<a>"}, {"Content-Type", "text/plain"}, {"Link", "<b>"}};
  kept->body = std::string("a\0b\xff", 4);
  record r;
  r.about = about;
  r.state = record_state::completed;
  r.token = 1'700'000'000'000'001;
  r.claim_id.fill(3);
  r.attempt = 2;
  r.deadline_lease = -5;
  r.expires_at_wall = 1'700'000'000'000;
  r.kept = answer_kept::full;
  r.answer = kept;
  r.incident = true;
  return r;
}

bool same_subject(const subject_ptr& a, const subject_ptr& b) {
  if (!a || !b) return !a && !b;
  return a->scope == b->scope && a->scope_kind == b->scope_kind && a->key == b->key &&
         a->method == b->method && a->path == b->path && a->route == b->route &&
         a->print == b->print && a->run_timeout == b->run_timeout;
}

bool same_answer(const answer_ptr& a, const answer_ptr& b) { return a && b ? *a == *b : !a && !b; }

bool same(const record& a, const record& b) {
  return same_subject(a.about, b.about) && same_answer(a.answer, b.answer) && a.state == b.state &&
         a.token == b.token && a.claim_id == b.claim_id && a.attempt == b.attempt &&
         a.deadline_lease == b.deadline_lease && a.retry_at_lease == b.retry_at_lease &&
         a.claimed_at_wall == b.claimed_at_wall && a.settled_at_wall == b.settled_at_wall &&
         a.expires_at_wall == b.expires_at_wall &&
         a.unknown_retention_ms == b.unknown_retention_ms && a.why == b.why &&
         a.why_status == b.why_status && a.kept == b.kept && a.failures == b.failures &&
         a.by_operator == b.by_operator && a.incident == b.incident &&
         a.maybe_repeated == b.maybe_repeated && a.earlier_unknown == b.earlier_unknown &&
         a.by_application == b.by_application;
}

template <std::size_t N>
std::array<unsigned char, N> random_array() {
  std::array<unsigned char, N> out{};
  for (auto& byte : out) byte = *rc::gen::arbitrary<unsigned char>();
  return out;
}

template <class Enum>
Enum random_choice(Enum lowest, Enum highest) {
  return static_cast<Enum>(
      *rc::gen::inRange(static_cast<int>(lowest), static_cast<int>(highest) + 1));
}

subject_ptr random_subject() {
  auto about = std::make_shared<subject>();
  about->scope = random_array<32>();
  about->scope_kind = *rc::gen::arbitrary<std::string>();
  about->key = *rc::gen::arbitrary<std::string>();
  about->method = *rc::gen::arbitrary<std::string>();
  about->path = *rc::gen::arbitrary<std::string>();
  about->route = *rc::gen::arbitrary<std::string>();
  about->print.method = *rc::gen::arbitrary<std::string>();
  about->print.value = random_array<32>();
  about->run_timeout = milliseconds(*rc::gen::arbitrary<std::int64_t>());
  return about;
}

answer_ptr random_answer() {
  auto kept = std::make_shared<answer>();
  kept->status = *rc::gen::arbitrary<std::uint16_t>();
  kept->headers = *rc::gen::arbitrary<std::vector<std::pair<std::string, std::string>>>();
  kept->body = *rc::gen::arbitrary<std::string>();
  return kept;
}

record random_record() {
  record r;
  if (*rc::gen::arbitrary<bool>()) r.about = random_subject();
  if (*rc::gen::arbitrary<bool>()) r.answer = random_answer();
  r.state = random_choice(record_state::started, record_state::released);
  r.why = random_choice(unknown_reason::none, unknown_reason::probe_inconclusive);
  r.kept = random_choice(answer_kept::full, answer_kept::none);
  r.token = *rc::gen::arbitrary<std::uint64_t>();
  r.claim_id = random_array<16>();
  r.attempt = *rc::gen::arbitrary<std::uint32_t>();
  r.failures = *rc::gen::arbitrary<std::uint32_t>();
  r.why_status = *rc::gen::arbitrary<std::uint16_t>();
  r.deadline_lease = *rc::gen::arbitrary<std::int64_t>();
  r.retry_at_lease = *rc::gen::arbitrary<std::int64_t>();
  r.claimed_at_wall = *rc::gen::arbitrary<std::int64_t>();
  r.settled_at_wall = *rc::gen::arbitrary<std::int64_t>();
  r.expires_at_wall = *rc::gen::arbitrary<std::int64_t>();
  r.unknown_retention_ms = *rc::gen::arbitrary<std::int64_t>();
  r.by_operator = *rc::gen::arbitrary<bool>();
  r.incident = *rc::gen::arbitrary<bool>();
  r.maybe_repeated = *rc::gen::arbitrary<bool>();
  r.earlier_unknown = *rc::gen::arbitrary<bool>();
  r.by_application = *rc::gen::arbitrary<bool>();
  return r;
}

void expect_unreadable(const std::string& bytes, std::string_view detail) {
  const auto read = decode_record(bytes);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::record_unreadable);
  EXPECT_NE(read.error().detail.find(detail), std::string::npos) << read.error().detail;
}

TEST(record_codec, reads_back_every_record_it_writes) {
  EXPECT_TRUE(rc::check([] {
    const auto before = random_record();
    const auto after = decode_record(encode_record(before));
    RC_ASSERT(after.has_value());
    RC_ASSERT(same(before, *after));
  }));
}

TEST(record_codec, parts_encoded_before_change_no_byte) {
  EXPECT_TRUE(rc::check([] {
    const auto before = random_record();
    const auto bytes = encode_record(before);
    RC_ASSERT(encode_record(before, encoded_parts(before.about, before.answer)) == bytes);
    RC_ASSERT(encode_record(before, encoded_parts(random_subject(), random_answer())) == bytes);
    for (const auto& about : {before.about, random_subject()}) {
      const auto after = decode_record(bytes, encoded_parts(about));
      RC_ASSERT(after.has_value());
      RC_ASSERT(same(before, *after));
    }
  }));
}

TEST(record_codec, a_subject_that_is_there_already_is_not_copied) {
  const auto before = sample();
  const auto bytes = encode_record(before);
  EXPECT_EQ(decode_record(bytes, encoded_parts(before.about))->about, before.about);
  auto other = std::make_shared<subject>(*before.about);
  other->route += "x";
  const auto after = decode_record(bytes, encoded_parts(other));
  EXPECT_TRUE(same_subject(after->about, before.about));
}

TEST(record_codec, a_large_answer_is_the_same_with_parts) {
  auto before = sample();
  auto large = std::make_shared<answer>();
  large->body.assign(100'000, 'x');
  before.answer = large;
  EXPECT_EQ(encode_record(before, encoded_parts(before.about, large)), encode_record(before));
}

TEST(record_codec, reads_what_the_first_version_wrote) {
  EXPECT_TRUE(rc::check([] {
    const auto before = random_record();
    const auto after = decode_record(as_format_1(encode_record(before)));
    RC_ASSERT(after.has_value());
    RC_ASSERT(same(before, *after));
  }));
}

TEST(record_codec, refuses_every_single_flipped_bit) {
  for (const auto& whole : {encode_record(sample()), as_format_1(encode_record(sample()))}) {
    for (std::size_t i = 0; i < whole.size() * 8; ++i) {
      auto damaged = whole;
      damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << (i % 8)));
      const auto read = decode_record(damaged);
      ASSERT_FALSE(read) << "bit " << i;
      ASSERT_EQ(read.error().code, errc::record_unreadable);
    }
  }
}

TEST(record_codec, refuses_every_cut_and_every_byte_too_many) {
  const auto whole = encode_record(sample());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ASSERT_FALSE(decode_record(std::string_view(whole).substr(0, size))) << size;
  }
  expect_unreadable(whole + '\0', "checksum");
  auto content = whole.substr(0, whole.size() - 8);
  expect_unreadable(with_xxh3(content + '\0'), "do not fit together");
}

TEST(record_codec, names_a_newer_format) {
  auto newer = encode_record(sample());
  newer[0] = 3;
  expect_unreadable(newer, "format 3 is newer than 2");
  newer[0] = 0;
  expect_unreadable(newer, "format 0");
}

TEST(record_codec, refuses_values_that_no_version_wrote) {
  const auto whole = encode_record(sample());
  const auto content = whole.substr(0, whole.size() - 8);
  const auto expect_refused_at = [&](std::size_t position, char value) {
    auto changed = content;
    changed[position] = value;
    expect_unreadable(with_xxh3(changed), "do not fit together");
  };
  expect_refused_at(1, 0);  // state
  expect_refused_at(1, 7);
  expect_refused_at(2, 0x40);  // flags
  expect_refused_at(3, 8);     // why
  expect_refused_at(4, 5);     // kept
}

TEST(record_codec, keeps_repeated_headers_in_order) {
  const auto read = decode_record(encode_record(sample()));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read->answer, *sample().answer);
}

TEST(record_codec, keeps_a_binary_body_of_a_mebibyte) {
  auto kept = std::make_shared<answer>();
  kept->body.resize(1 << 20);
  for (std::size_t i = 0; i < kept->body.size(); ++i) {
    kept->body[i] = static_cast<char>(i * 31 + (i >> 8));
  }
  auto before = sample();
  before.answer = kept;
  const auto after = decode_record(encode_record(before));
  ASSERT_TRUE(after);
  EXPECT_TRUE(after->answer->body == kept->body);
}

TEST(record_codec, is_the_documented_format) {
  record r;
  r.token = 0x0102;
  r.attempt = 300;
  const auto bytes = encode_record(r);
  ASSERT_EQ(bytes.size(), 5u + 8 + 16 + 4 + 6 * 8 + 8);
  EXPECT_EQ(bytes.substr(0, 7), std::string("\x02\x01\x00\x00\x04\x02\x01", 7));
  EXPECT_EQ(bytes.substr(29, 2), "\xac\x02");
  // The reverse of what `xxhsum -H3` says of the bytes before.
  EXPECT_EQ(bytes.substr(bytes.size() - 8), "\x83t\xF6u\xD7\x83\0\x14"s);
}

TEST(record_codec, a_part_by_itself_has_no_byte_too_many) {
  const auto whole = sample();
  const auto about = encode_subject(*whole.about);
  const auto kept = encode_answer(*whole.answer);
  EXPECT_TRUE(same_subject(decode_subject(about).value(), whole.about));
  EXPECT_TRUE(same_answer(decode_answer(kept).value(), whole.answer));
  EXPECT_EQ(decode_subject(about + '\0').error().code, errc::record_unreadable);
  EXPECT_EQ(decode_answer(kept + '\0').error().code, errc::record_unreadable);
}

TEST(record_codec, a_number_has_one_encoding_and_fits_into_its_member) {
  const auto whole = encode_record(sample());
  const auto with_attempt = [&](const std::string& number) {
    auto content = whole.substr(0, whole.size() - 8);
    return with_xxh3(content.replace(29, 1, number));
  };
  EXPECT_EQ(decode_record(with_attempt("\xac\x02"s))->attempt, 300u);
  EXPECT_EQ(decode_record(with_attempt("\xff\xff\xff\xff\x0f"s))->attempt, 0xffff'ffffu);
  expect_unreadable(with_attempt("\x82\0"s), "do not fit together");
  expect_unreadable(with_attempt("\x80\x80\x80\x80\x10"s), "do not fit together");
}

}  // namespace
}  // namespace onceguard
