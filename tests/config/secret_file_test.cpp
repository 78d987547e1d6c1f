// Values that may hold a password, in files of their own.
#include <fstream>
#include <string>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.hpp"
#include "config/remark_texts.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class secret_file : public ::testing::Test {
 protected:
  secret_file() {
    given.file = "c.toml";
    given.need_upstream = false;
  }

  std::string write(const std::string& text, mode_t mode = 0600) {
    const auto path = (folder.path() / "secret").string();
    std::ofstream(path, std::ios::binary) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  [[nodiscard]] loaded load(const std::string& toml) const { return load_text(toml, given); }
  [[nodiscard]] static std::string store_at(const std::string& path) {
    return "[store]\nurl_file = \"" + path + "\"\n";
  }

  testing::temporary_folder folder;
  sources given;
};

constexpr auto url = "redis://me:hunter2@h:6379";

TEST_F(secret_file, holds_the_value_on_one_line) {
  for (const std::string end : {"", "\n", "\r\n", " \n\n"}) {
    EXPECT_EQ(load(store_at(write(url + end))).values.store.url, url);
  }
}

TEST_F(secret_file, may_be_named_by_variable_and_flag) {
  const auto path = write(url);
  given.environment = {{"ONCEGUARD_STORE_FILE", path}};
  EXPECT_EQ(load("[store]\nurl = \"memory:\"\n").values.store.url, url);
  given.flags = {{"store", "memory:"}};
  EXPECT_EQ(load("").values.store.url, "memory:");
  given.environment = {{"ONCEGUARD_STORE", "memory:"}};
  given.flags = {{"store-file", path}};
  EXPECT_EQ(load("").values.store.url, url);
}

TEST_F(secret_file, of_other_tables) {
  write("postgresql://me:hunter2@h/shop");
  const auto path = (folder.path() / "secret").string();
  const auto read = load(
      "[store]\nurl = \"sqlite:x\"\n[reconcile]\nquery = \"SELECT $1, $2\"\n"
      "database_file = \"" +
      path + "\"\n");
  EXPECT_EQ(read.values.query.database, "postgresql://me:hunter2@h/shop");
  EXPECT_TRUE(read.ok()) << texts_of(read);
}

TEST_F(secret_file, beside_the_value_is_a_fault) {
  const auto path = write(url);
  const auto toml = store_at(path) + "url = \"memory:\"\n";
  EXPECT_THAT(texts_of(load(toml)),
              HasSubstr("c.toml:3:1: [store] url and url_file are both given; choose one"));
  given.flags = {{"store", "memory:"}, {"store-file", path}};
  EXPECT_THAT(texts_of(load("")), HasSubstr("--store-file: --store is given too; choose one"));
  given.flags.clear();
  given.environment = {{"ONCEGUARD_STORE", "memory:"}, {"ONCEGUARD_STORE_FILE", path}};
  EXPECT_THAT(texts_of(load("")),
              HasSubstr("ONCEGUARD_STORE_FILE: ONCEGUARD_STORE is given too; choose one"));
}

TEST_F(secret_file, that_is_wrong_is_named_and_not_repeated) {
  for (const auto* text : {"hunter2", "hunter2://x", "redis://me:hunter2@h:99999",
                           "redis://h\nhunter2", "postgresql://me:hunter2@h:x/%zz"}) {
    const auto faults = texts_of(load(store_at(write(text))));
    EXPECT_THAT(faults, HasSubstr("c.toml:2:12: [store] url")) << text;
    EXPECT_THAT(faults, HasSubstr("secret")) << text;
    EXPECT_THAT(faults, Not(HasSubstr("hunter2"))) << text;
  }
}

TEST_F(secret_file, that_is_empty_absent_or_no_path) {
  EXPECT_THAT(texts_of(load(store_at(write(" \n")))), HasSubstr("is empty"));
  EXPECT_THAT(texts_of(load(store_at("/nowhere/secret"))),
              HasSubstr("\"/nowhere/secret\" can't be read: No such file or directory"));
  EXPECT_THAT(texts_of(load(store_at(folder.path().string()))), HasSubstr("can't be read"));
  EXPECT_THAT(texts_of(load("[store]\nurl_file = 7\n")),
              HasSubstr("c.toml:2:1: [store] url_file: expected a path in quotes"));
  EXPECT_THAT(texts_of(load("[store]\nsweep_file = \"x\"\n")),
              HasSubstr("[store] unknown option \"sweep_file\""));
}

TEST_F(secret_file, that_all_can_read_is_pointed_out) {
  EXPECT_THAT(texts_of(load(store_at(write(url, 0644)))), HasSubstr("note: [store] url_file: "));
  EXPECT_THAT(texts_of(load(store_at(write(url, 0640)))), Not(HasSubstr("by every user")));
}

TEST_F(secret_file, has_a_variable_that_may_be_mistyped) {
  given.environment = {{"ONCEGUARD_STORE_FIEL", "x"}};
  EXPECT_THAT(texts_of(load("")), HasSubstr("did you mean ONCEGUARD_STORE_FILE?"));
}

}  // namespace
}  // namespace onceguard::config
