// What an export file may hold, and how what was exported ages.
#include "cli/keys/export_file.hpp"

#include <sstream>

#include <gtest/gtest.h>

#include <onceguard/fingerprint.hpp>

namespace onceguard::cli::keys {
namespace {

imported_record some() {
  imported_record out;
  out.lease_over = milliseconds(10);
  out.retry_after = milliseconds(20);
  out.claimed_ago = milliseconds(300);
  out.settled_ago = milliseconds(200);
  out.retention_left = milliseconds(1'000);
  return out;
}

TEST(aged, by_as_much_as_has_passed) {
  const auto later = aged(some(), milliseconds(15));
  ASSERT_TRUE(later);
  EXPECT_EQ(later->retention_left, milliseconds(985));
  EXPECT_EQ(later->retry_after, milliseconds(5));
  EXPECT_EQ(later->lease_over, milliseconds(25));
  EXPECT_EQ(later->claimed_ago, milliseconds(315));
  EXPECT_EQ(later->settled_ago, milliseconds(215));
  EXPECT_FALSE(aged(some(), milliseconds(1'000)));
}

TEST(aged, back_to_when_an_export_began_loses_nothing_on_the_way) {
  const auto there = aged(some(), milliseconds(-100));
  ASSERT_TRUE(there);
  EXPECT_EQ(there->retention_left, milliseconds(1'100));
  EXPECT_EQ(there->lease_over, milliseconds(0));
  const auto back = aged(*there, milliseconds(100));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->retention_left, some().retention_left);
  EXPECT_EQ(back->retry_after, some().retry_after);
  EXPECT_EQ(back->settled_ago, some().settled_ago);
}

TEST(aged, what_may_run_or_never_expires_stays_so) {
  auto request = some();
  request.retry_after = milliseconds(0);
  request.retention_left = milliseconds(0);
  const auto before = aged(request, milliseconds(-100));
  ASSERT_TRUE(before);
  EXPECT_EQ(before->retry_after, milliseconds(0));
  EXPECT_EQ(before->retention_left, milliseconds(0));
}

// ---- the file

imported_record of_key(const std::string& key) {
  auto out = some();
  auto about = std::make_shared<subject>();
  about->scope = {1};
  about->key = key;
  out.id = make_record_id(about->scope, key);
  out.stored.about = std::move(about);
  out.stored.state = record_state::completed;
  return out;
}

/// What the reader says of a file with that record; empty: it is fine.
std::string fault_in_file_of(const imported_record& written) {
  std::stringstream file;
  record_writer writer(file, {});
  writer.add(written);
  writer.finish();
  record_reader reader(file);
  EXPECT_TRUE(reader.head());
  const auto read = reader.next();
  return read ? std::string() : read.error().detail;
}

TEST(export_file, a_record_under_the_id_of_another_key_is_refused) {
  auto made = of_key("pay-1");
  EXPECT_EQ(fault_in_file_of(made), "");
  made.id = of_key("pay-2").id;
  EXPECT_EQ(fault_in_file_of(made),
            "line 2: the id is not that of key \"pay-1\" in scope 01" + std::string(62, '0'));
  auto about = std::make_shared<subject>(*made.stored.about);
  about->scope = {2};
  made.id = of_key("pay-1").id;
  made.stored.about = about;
  EXPECT_NE(fault_in_file_of(made), "");
}

TEST(export_file, what_an_operator_completed_unread_is_of_no_known_key) {
  auto made = of_key("pay-1");
  made.stored.about = std::make_shared<subject>();
  EXPECT_EQ(fault_in_file_of(made), "");
}

}  // namespace
}  // namespace onceguard::cli::keys
