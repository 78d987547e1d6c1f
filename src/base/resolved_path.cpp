#include "base/resolved_path.hpp"

namespace onceguard::base {

std::filesystem::path resolved_path(const std::string& path, std::error_code& failed) {
  namespace fs = std::filesystem;
  constexpr int hops_max = 40;  // as in Linux (path_resolution(7))
  auto out = fs::weakly_canonical(fs::absolute(path), failed);
  std::error_code ignored;
  for (int i = 0; i < hops_max && !failed && fs::is_symlink(out, ignored); ++i) {
    const auto target = fs::read_symlink(out, failed);
    if (!failed) out = fs::weakly_canonical(out.parent_path() / target, failed);
  }
  return out;
}

}  // namespace onceguard::base
