#include "cli/new_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace onceguard::cli {

new_file::new_file(const std::string& path) : path_(path), part_(path + ".part") {}

new_file::~new_file() {
  if (out_.is_open()) ::unlink(part_.c_str());
}

error new_file::failure() const {
  return error(errc::invalid_argument, path_ + ": " + std::strerror(errno));
}

result<void> new_file::open() {
  std::error_code failed;
  if (std::filesystem::exists(path_, failed)) {
    return error(errc::conflict, path_ + ": there is such a file already");
  }
  const int made = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (made < 0) return failure();
  out_.open(part_, std::ios::binary);
  ::close(made);
  if (!out_) return failure();
  return {};
}

result<void> new_file::flush() {
  if (!out_.flush()) return failure();
  return {};
}

result<void> new_file::finish() {
  if (auto gone_out = flush(); !gone_out) return gone_out;
  const int written = ::open(part_.c_str(), O_WRONLY | O_CLOEXEC);
  const bool kept = written >= 0 && ::fsync(written) == 0;
  if (written >= 0) ::close(written);
  // Not rename(), which would replace a file that was created meanwhile.
  if (!kept || ::link(part_.c_str(), path_.c_str()) != 0) return failure();
  return {};
}

}  // namespace onceguard::cli
