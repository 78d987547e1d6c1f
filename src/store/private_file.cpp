#include "store/private_file.hpp"

#include <cerrno>
#include <sys/stat.h>
#include <system_error>

#include "base/file_text.hpp"

namespace onceguard {

result<std::string> read_private_file(const std::string& path, std::size_t size_max) {
  const auto refused = [&](const std::string& fault) {
    return error(errc::invalid_argument, path + ": " + fault);
  };
  auto held = base::read_file(path, size_max);
  if (!held) return refused(held.error().detail);
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) {
    return refused("can't be read: " + std::generic_category().message(errno));
  }
  if ((about.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    return refused("others than its owner and group may read or write it; chmod o-rwx");
  }
  return held;
}

}  // namespace onceguard
