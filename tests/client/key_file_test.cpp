// Keys: how they are made, and how they outlive a client.
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include <onceguard/client_key_file.hpp>
#include <onceguard/key.hpp>

#include "client/delivery_run.hpp"
#include "client/uuid.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::client {
namespace {

TEST(new_keys, are_uuids_of_version_7) {
  constexpr std::array<unsigned char, 10> random{0x0c, 0xc3, 0x18, 0xc4, 0xdc,
                                                 0x0c, 0x0c, 0x07, 0x39, 0x8f};
  // The example of RFC 9562, appendix A.6.
  EXPECT_EQ(uuid_v7(0x017F22E279B0, random), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

TEST(new_keys, are_never_the_same) {
  std::set<std::string> seen;
  for (int i = 0; i < 1'000; ++i) seen.insert(make_key());
  EXPECT_EQ(seen.size(), 1'000u);
}

TEST(new_keys, come_back_from_the_header_that_they_are_sent_in) {
  for (const std::string key : {"abc", "a \"quoted\" \\ key", " spaces "}) {
    EXPECT_EQ(parse_key(key_field(key), key_syntax::strict).value(), key);
  }
}

class key_files : public ::testing::Test {
 protected:
  std::string path() const { return (folder.path() / "order.key").string(); }
  std::string content() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder.path()), {});
  }
  testing::temporary_folder folder;
  const request order{"POST", "http://shop/orders", {}, "body"};
};

TEST_F(key_files, give_the_same_key_to_the_same_request) {
  const auto first = key_file::open(path(), order).value();
  EXPECT_TRUE(is_uuid(first.key()));
  EXPECT_EQ(first.done_status(), 0);
  EXPECT_EQ(key_file::open(path(), order)->key(), first.key());
  EXPECT_EQ(files(), 1) << "nothing else is left in the folder";
}

TEST_F(key_files, refuse_another_request) {
  ASSERT_TRUE(key_file::open(path(), order));
  const auto before = content();
  for (const request& other : {request{"PUT", order.url, {}, order.body},
                               request{"POST", "http://shop/order", {}, order.body},
                               request{"POST", order.url, {}, "another body"}}) {
    const auto opened = key_file::open(path(), other);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::conflict);
    EXPECT_NE(opened.error().detail.find(path()), std::string::npos);
  }
  EXPECT_EQ(content(), before);
}

TEST_F(key_files, keep_that_the_request_is_done) {
  auto file = key_file::open(path(), order).value();
  ASSERT_TRUE(file.mark_done(201));
  const auto again = key_file::open(path(), order).value();
  EXPECT_EQ(again.done_status(), 201);
  EXPECT_EQ(again.key(), file.key());
  EXPECT_EQ(files(), 1);
}

TEST_F(key_files, that_are_damaged_are_not_used_and_not_replaced) {
  ASSERT_TRUE(key_file::open(path(), order));
  const auto whole = content();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(path(), std::ios::trunc) << whole.substr(0, size);
    const auto opened = key_file::open(path(), order);
    ASSERT_FALSE(opened) << size;
    EXPECT_EQ(opened.error().code, errc::record_unreadable);
    EXPECT_EQ(content(), whole.substr(0, size));
  }
}

TEST_F(key_files, with_any_byte_changed_are_not_used) {
  auto file = key_file::open(path(), order).value();
  ASSERT_TRUE(file.mark_done(201));
  const auto whole = content();
  for (std::size_t index = 0; index < whole.size(); ++index) {
    auto changed = whole;
    changed[index] = changed[index] == '0' ? '1' : '0';
    std::ofstream(path(), std::ios::trunc) << changed;
    const auto opened = key_file::open(path(), order);
    ASSERT_FALSE(opened) << changed;
    EXPECT_EQ(opened.error().code, errc::record_unreadable) << changed;
  }
}

TEST_F(key_files, with_a_status_that_is_no_success_are_not_used) {
  for (const int status : {1, 199, 400, 500}) {
    std::filesystem::remove(path());
    auto file = key_file::open(path(), order).value();
    ASSERT_TRUE(file.mark_done(static_cast<std::uint16_t>(status)));
    const auto opened = key_file::open(path(), order);
    ASSERT_FALSE(opened) << status;
    EXPECT_EQ(opened.error().code, errc::record_unreadable);
  }
}

TEST_F(key_files, of_another_operation_are_left_as_they_are) {
  const request other{"POST", order.url, {}, "another body"};
  for (const auto& next : {order, other}) {
    std::filesystem::remove(path());
    auto file = key_file::open(path(), order).value();
    std::filesystem::remove(path());
    const auto replaced = key_file::open(path(), next).value();
    const auto before = content();
    const auto marked = file.mark_done(201);
    ASSERT_FALSE(marked);
    EXPECT_EQ(marked.error().code, errc::conflict);
    EXPECT_EQ(content(), before);
    EXPECT_EQ(file.done_status(), 0);
    EXPECT_EQ(files(), 1);
  }
}

TEST_F(key_files, that_were_removed_stay_away) {
  auto file = key_file::open(path(), order).value();
  std::filesystem::remove(path());
  const auto marked = file.mark_done(201);
  ASSERT_FALSE(marked);
  EXPECT_EQ(marked.error().code, errc::not_found);
  EXPECT_EQ(files(), 0);
}

TEST_F(key_files, behind_symbolic_links_are_written_and_the_links_stay) {
  const auto inner = folder.path() / "inner";
  std::filesystem::create_directory(inner);
  const auto chain = folder.path() / "chain";
  std::filesystem::create_symlink("chain", path());
  std::filesystem::create_symlink("inner/order.key", chain);
  auto file = key_file::open(path(), order).value();
  ASSERT_TRUE(file.mark_done(201));
  EXPECT_TRUE(std::filesystem::is_symlink(path()));
  EXPECT_TRUE(std::filesystem::is_symlink(chain));
  EXPECT_TRUE(std::filesystem::is_regular_file(inner / "order.key"));
  EXPECT_EQ(key_file::open((inner / "order.key").string(), order)->done_status(), 201);
}

TEST_F(key_files, in_a_folder_that_is_not_there_are_an_error) {
  const auto opened = key_file::open((folder.path() / "none" / "order.key").string(), order);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, errc::store_unreachable);
}

TEST_F(key_files, that_several_make_at_once_have_one_key) {
  std::vector<std::string> keys(8);
  std::vector<std::thread> makers;
  for (auto& key : keys) {
    makers.emplace_back([&] { key = key_file::open(path(), order).value().key(); });
  }
  for (auto& maker : makers) maker.join();
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 1u);
  EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace onceguard::client
