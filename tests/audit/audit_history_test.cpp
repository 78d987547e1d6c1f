#include "audit/audit_history.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

std::string line_of(int number, const std::string& why = "a test") {
  nlohmann::ordered_json line{{"at", "2026-01-01T00:00:00.000Z"},
                              {"stage", "done"},
                              {"action", "release"},
                              {"who", number % 2 == 0 ? "alice" : "bob"},
                              {"means", "admin"},
                              {"why", why},
                              {"record", "0123456789ab"},
                              {"key", "order-" + std::to_string(number)},
                              {"from", "unknown"},
                              {"to", "released"},
                              {"about", ""}};
  return line.dump() + "\n";
}

class audit_history_test : public ::testing::Test {
 protected:
  void append(const std::string& text) {
    std::ofstream(path_, std::ios::app | std::ios::binary) << text;
  }

  std::vector<std::string> keys(audit_query query, int* pages = nullptr) {
    std::vector<std::string> out;
    do {
      const auto page = read_audit_file(path_, query).value().value();
      for (const auto& one : page.entries) out.push_back(one.key);
      unreadable_ += page.unreadable;
      query.cursor = page.cursor;
      if (pages != nullptr) ++*pages;
    } while (!query.cursor.empty());
    return out;
  }

  testing::temporary_folder folder_;
  std::string path_ = folder_.file("audit.jsonl");
  std::size_t unreadable_ = 0;
};

TEST_F(audit_history_test, every_line_comes_once_from_the_newest_on) {
  constexpr int count = 3'000;  // several blocks
  std::string lines;
  for (int i = 0; i < count; ++i) lines += line_of(i);
  append(lines);
  int pages = 0;
  const auto found = keys({.limit = 7}, &pages);
  ASSERT_EQ(found.size(), static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(found[static_cast<std::size_t>(i)], "order-" + std::to_string(count - 1 - i));
  }
  EXPECT_GE(pages, count / 7);
  EXPECT_EQ(unreadable_, 0U);
}

TEST_F(audit_history_test, each_filter_has_to_fit) {
  for (int i = 0; i < 20; ++i) append(line_of(i));
  EXPECT_EQ(keys({.key = "order-1", .author = "bob"}),
            (std::vector<std::string>{"order-19", "order-17", "order-15", "order-13", "order-11",
                                      "order-1"}));
  EXPECT_EQ(keys({.record = "0123456789abcdef"}).size(), 20U);
  EXPECT_TRUE(keys({.record = "0123456789ac"}).empty());
}

TEST_F(audit_history_test, what_is_no_entry_is_counted_and_hides_no_other) {
  append(line_of(1));
  append("{\"at\":\"2026-01-01T00\n");                      // a line that was torn
  append(std::string(300'000, '\0') + "\n");                // a hole
  append("[1,2]\n{\"at\":1}\n\n");                          // other values, and nothing
  append(std::string(20, '\0') + line_of(2) + line_of(3));  // a hole before a line
  append("{\"at\":");                                       // a line that is being written
  EXPECT_EQ(keys({}), (std::vector<std::string>{"order-3", "order-2", "order-1"}));
  EXPECT_GE(unreadable_, 4U);
}

TEST_F(audit_history_test, a_call_reads_a_part_of_a_long_file) {
  append(line_of(1));
  const auto long_line = line_of(2, std::string(1'000, 'x'));
  std::string lines;
  for (int i = 0; i < 8'000; ++i) lines += long_line;
  append(lines);
  const auto page = read_audit_file(path_, {.key = "order-1"}).value().value();
  EXPECT_TRUE(page.entries.empty());
  EXPECT_FALSE(page.cursor.empty());
  int pages = 0;
  EXPECT_EQ(keys({.key = "order-1"}, &pages), std::vector<std::string>{"order-1"});
  EXPECT_GE(pages, 4);
}

TEST_F(audit_history_test, a_cursor_is_for_the_file_that_it_came_from) {
  for (int i = 0; i < 9; ++i) append(line_of(i));
  const auto page = read_audit_file(path_, {.limit = 2}).value().value();
  std::filesystem::rename(path_, path_ + ".1");
  append(line_of(1));
  for (const auto& cursor : {page.cursor, std::string("x"), std::string("1-"), std::string("-1")}) {
    const auto refused = read_audit_file(path_, {.cursor = cursor});
    ASSERT_FALSE(refused) << cursor;
    EXPECT_EQ(refused.error().code, errc::invalid_argument);
  }
}

std::vector<std::string> keys_of(const audit_page& page) {
  std::vector<std::string> out;
  for (const auto& one : page.entries) out.push_back(one.key);
  return out;
}

TEST_F(audit_history_test, what_is_newer_comes_alone_and_whole) {
  for (int i = 0; i < 3; ++i) append(line_of(i));
  append(line_of(3).substr(0, 40));  // a line that is being written
  const auto first = read_audit_file(path_, {}).value().value();
  EXPECT_FALSE(first.follows);
  append(line_of(3).substr(40) + line_of(4));
  const auto second = read_audit_file(path_, {.after = first.newest}).value().value();
  EXPECT_TRUE(second.follows);
  EXPECT_EQ(keys_of(second), (std::vector<std::string>{"order-4", "order-3"}));
  EXPECT_EQ(second.unreadable, 0U);
  EXPECT_EQ(second.cursor, "");
  const auto third = read_audit_file(path_, {.after = second.newest}).value().value();
  EXPECT_TRUE(third.follows && third.entries.empty());
  EXPECT_EQ(third.newest, second.newest);
  std::filesystem::rename(path_, path_ + ".1");
  append(line_of(9));
  const auto other = read_audit_file(path_, {.after = third.newest}).value().value();
  EXPECT_FALSE(other.follows);
  EXPECT_EQ(keys_of(other), std::vector<std::string>{"order-9"});
}

TEST_F(audit_history_test, of_much_that_is_newer_the_rest_has_a_cursor) {
  append(line_of(0));
  const auto first = read_audit_file(path_, {}).value().value();
  for (int i = 1; i < 6; ++i) append(line_of(i));
  const auto page = read_audit_file(path_, {.limit = 3, .after = first.newest}).value().value();
  const auto rest =
      read_audit_file(path_, {.cursor = page.cursor, .after = first.newest}).value().value();
  EXPECT_EQ(keys_of(page), (std::vector<std::string>{"order-5", "order-4", "order-3"}));
  EXPECT_EQ(keys_of(rest), (std::vector<std::string>{"order-2", "order-1"}));
  EXPECT_EQ(rest.cursor, "");
}

TEST_F(audit_history_test, a_last_line_that_lacks_its_newline_does_not_come_twice) {
  append(line_of(0));
  auto last = line_of(1);
  last.pop_back();
  append(last);
  const auto first = read_audit_file(path_, {}).value().value();
  EXPECT_EQ(keys_of(first), (std::vector<std::string>{"order-1", "order-0"}));
  const auto again = read_audit_file(path_, {.after = first.newest}).value().value();
  EXPECT_TRUE(!again.follows || again.entries.empty());
  append("\n" + line_of(2));
  const auto second = read_audit_file(path_, {.after = first.newest}).value().value();
  EXPECT_EQ(keys_of(second), second.follows
                                 ? (std::vector<std::string>{"order-2"})
                                 : (std::vector<std::string>{"order-2", "order-1", "order-0"}));
}

TEST_F(audit_history_test, a_file_that_was_cut_off_and_has_grown_since_is_read_anew) {
  append(line_of(0) + line_of(1));
  const auto first = read_audit_file(path_, {}).value().value();
  std::filesystem::resize_file(path_, 0);
  append(line_of(7, "a much longer reason than those of the lines before") + line_of(8));
  const auto second = read_audit_file(path_, {.after = first.newest}).value().value();
  EXPECT_FALSE(second.follows);
  EXPECT_EQ(keys_of(second), (std::vector<std::string>{"order-8", "order-7"}));
}

TEST_F(audit_history_test, a_file_that_is_not_there_has_no_lines_and_a_stream_is_none) {
  EXPECT_TRUE(read_audit_file(path_, {}).value().value().entries.empty());
  EXPECT_FALSE(read_audit_file("/dev/null", {}).value().has_value());
  EXPECT_FALSE(read_audit_file(path_ + "/x/y", {}).value()->cursor.size() > 0);
}

TEST(recent_audit_test, the_last_entries_are_kept_and_a_page_goes_on_where_one_ended) {
  recent_audit kept;
  for (std::size_t i = 0; i < recent_audit::number_max + 10; ++i) {
    audit_entry one;
    one.key = "order-" + std::to_string(i);
    kept.add(one);
  }
  audit_query query;
  query.limit = 300;
  const auto first = kept.read(query).value();
  EXPECT_EQ(first.entries.front().key, "order-509");
  kept.add({});
  query.cursor = first.cursor;
  const auto second = kept.read(query).value();
  EXPECT_EQ(second.entries.front().key, "order-209");
  EXPECT_EQ(second.entries.back().key, "order-11");
  EXPECT_TRUE(second.cursor.empty());
}

TEST(recent_audit_test, what_is_newer_comes_alone) {
  recent_audit kept;
  audit_entry one;
  one.key = "order-1";
  kept.add(one);
  const auto first = kept.read({}).value();
  one.key = "order-2";
  kept.add(one);
  const auto second = kept.read({.after = first.newest}).value();
  EXPECT_TRUE(second.follows && !first.follows);
  ASSERT_EQ(second.entries.size(), 1U);
  EXPECT_EQ(second.entries[0].key, "order-2");
  EXPECT_EQ(second.cursor, "");
  EXPECT_FALSE(kept.read({.after = "0-1"}).value().follows);  // of another process
  for (std::size_t i = 0; i < recent_audit::number_max + 1; ++i) kept.add(one);
  EXPECT_FALSE(kept.read({.after = second.newest}).value().follows) << "one is gone meanwhile";
}

}  // namespace
}  // namespace onceguard::testing
