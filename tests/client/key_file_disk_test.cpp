// A key is on the disk before anybody gets it, and so is its name.
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <onceguard/client_key_file.hpp>

#include "support/temporary_folder.hpp"

namespace onceguard::client {
namespace {

std::function<void(const std::string& path)> on_flush;  // while a test listens

}  // namespace
}  // namespace onceguard::client

/// In the place of the C library's, in this program.
extern "C" int fsync(int fd) {
  if (onceguard::client::on_flush) {
    onceguard::client::on_flush(
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)));
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace onceguard::client {
namespace {

class key_file_on_disk : public ::testing::Test {
 protected:
  ~key_file_on_disk() override { on_flush = nullptr; }
  std::string path() const { return (folder.path() / "order.key").string(); }
  /// What was flushed, in its order: the file with its name, another one with its whole text, or
  /// the folder.
  std::vector<std::string> flushed_by(const std::function<void()>& act) const {
    std::vector<std::string> out;
    on_flush = [&](const std::string& flushed) {
      if (std::filesystem::path(flushed).filename() == "order.key") {
        out.emplace_back("file");
      } else if (std::filesystem::is_directory(flushed)) {
        out.emplace_back(std::filesystem::exists(path()) ? "name" : "folder without the name");
      } else {
        out.emplace_back(std::filesystem::file_size(flushed) > 0 ? "text" : "nothing");
      }
    };
    act();
    on_flush = nullptr;
    return out;
  }
  testing::temporary_folder folder;
  const request order{"POST", "http://shop/orders", {}, "body"};
};

using steps = std::vector<std::string>;

TEST_F(key_file_on_disk, text_comes_before_its_name_and_both_before_the_key_is_given) {
  EXPECT_EQ(flushed_by([&] { ASSERT_TRUE(key_file::open(path(), order)); }),
            (steps{"text", "file", "name"}));
}

TEST_F(key_file_on_disk, what_another_process_made_is_flushed_before_it_is_used) {
  ASSERT_TRUE(key_file::open(path(), order));
  EXPECT_EQ(flushed_by([&] { ASSERT_TRUE(key_file::open(path(), order)); }),
            (steps{"file", "name"}))
      << "its maker may have been killed before it was on the disk";
}

TEST_F(key_file_on_disk, that_it_is_done_is_flushed_as_well) {
  auto file = key_file::open(path(), order).value();
  EXPECT_EQ(flushed_by([&] { ASSERT_TRUE(file.mark_done(201)); }), (steps{"file", "text", "name"}));
}

}  // namespace
}  // namespace onceguard::client
