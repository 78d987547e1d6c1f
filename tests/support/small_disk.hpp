// A real file system of few bytes.
#pragma once
#include <filesystem>
#include <string>
#include <sys/mount.h>

namespace onceguard::testing {

/// Needs the right to mount one.
class small_disk {
 public:
  /// `size` as tmpfs takes it: 512k, 40m.
  small_disk(const std::string& text, const std::string& size) : path_(text) {
    std::filesystem::create_directory(text);
    mounted_ = ::mount("tmpfs", text.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~small_disk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;
  [[nodiscard]] bool mounted() const noexcept { return mounted_; }
  [[nodiscard]] bool resize(const std::string& size) const {
    return ::mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str()) == 0;
  }

 private:
  std::string path_;
  bool mounted_ = false;
};

}  // namespace onceguard::testing
