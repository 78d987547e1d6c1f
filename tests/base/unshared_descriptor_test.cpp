// A file whose lock ends with the process that took it, whatever that has forked.
#include "base/unshared_descriptor.hpp"

#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/file.h>

#include <gtest/gtest.h>

#include "base/descriptor.hpp"
#include "support/forked_process.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::base {
namespace {

using testing::forked_process;
using testing::temporary_folder;

class unshared_descriptor_test : public ::testing::Test {
 protected:
  [[nodiscard]] int open_file() const {
    return ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  }
  [[nodiscard]] static bool lock(int file) { return ::flock(file, LOCK_EX | LOCK_NB) == 0; }
  [[nodiscard]] bool is_free() const {
    const descriptor other(open_file());
    return lock(other.get());
  }

  temporary_folder folder_;
  const std::string path_ = folder_.file("locked");
};

TEST_F(unshared_descriptor_test, a_forked_process_does_not_keep_the_lock) {
  std::optional<unshared_descriptor> one(std::in_place);
  ASSERT_TRUE(one->open([&] { return open_file(); }));
  ASSERT_TRUE(lock(one->get()));
  const forked_process forked([&] { one.reset(); });  // nor does it end it
  EXPECT_FALSE(is_free());
  one.reset();
  EXPECT_TRUE(is_free());
}

/// A file system may hang while it opens a file, and the program may fork all the same.
TEST_F(unshared_descriptor_test, a_process_that_is_forked_during_the_open_does_not_keep_it_either) {
  std::optional<unshared_descriptor> one(std::in_place);
  std::optional<forked_process> forked;
  int opened = 0;
  ASSERT_TRUE(one->open([&] {
    ++opened;
    const int out = open_file();
    if (!forked) forked.emplace();
    return out;
  }));
  EXPECT_EQ(opened, 2);
  ASSERT_TRUE(lock(one->get()));
  EXPECT_FALSE(is_free());
  one.reset();
  EXPECT_TRUE(is_free());
}

TEST_F(unshared_descriptor_test, what_can_not_be_opened_changes_nothing) {
  unshared_descriptor one;
  EXPECT_LT(one.get(), 0);
  ASSERT_TRUE(one.open([&] { return open_file(); }));
  ASSERT_TRUE(lock(one.get()));
  EXPECT_FALSE(one.open([] { return ::open("/", O_RDWR | O_CLOEXEC); }));
  EXPECT_EQ(errno, EISDIR);
  EXPECT_FALSE(is_free());
  ASSERT_TRUE(one.open([&] { return open_file(); }));  // in place of the former one
  EXPECT_TRUE(is_free());
}

}  // namespace
}  // namespace onceguard::base
