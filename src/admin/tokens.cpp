#include "admin/tokens.hpp"

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <sys/stat.h>
#include <system_error>

#include <openssl/crypto.h>

#include "base/ascii.hpp"
#include "base/file_text.hpp"
#include "base/hash.hpp"

namespace onceguard::admin {

namespace {

constexpr std::size_t token_size_min = 16;
constexpr std::size_t file_size_max = 1u << 20;

error refused(const std::string& path, const std::string& fault) {
  return {errc::invalid_argument, "admin_token_file " + path + ": " + fault};
}

struct token_line {
  access granted = access::view;
  std::string token;
  std::string name;
};

result<std::vector<token_line>> read_lines(const std::string& path) {
  const auto held = base::read_file(path, file_size_max);
  if (!held) return refused(path, held.error().detail);
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) {
    return refused(path, "can't be read: " + std::generic_category().message(errno));
  }
  std::istringstream input(*held);
  if ((about.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    return refused(path, "others than its owner and group may read or write it; chmod o-rwx");
  }
  std::vector<token_line> out;
  std::string line;
  for (std::size_t number = 1; std::getline(input, line); ++number) {
    std::istringstream words(line);
    std::string role;
    token_line one;
    if (!(words >> role) || role.starts_with('#')) continue;
    const auto where = "line " + std::to_string(number) + ": ";
    if (role != "operator" && role != "viewer") {
      return refused(path, where + "expected \"operator TOKEN\" or \"viewer TOKEN\"");
    }
    if (!(words >> one.token) || one.token.size() < token_size_min) {
      return refused(
          path, where + "a token has at least " + std::to_string(token_size_min) + " characters");
    }
    one.granted = role == "operator" ? access::act : access::view;
    if (!(words >> one.name)) one.name = role;
    std::string more;
    if (words >> more) return refused(path, where + "expected one word behind the token, a name");
    out.push_back(std::move(one));
  }
  if (out.empty()) return refused(path, "holds no token");
  return out;
}

}  // namespace

result<token_list> token_list::read(const std::string& path) {
  auto lines = read_lines(path);
  if (!lines) return lines.error();
  token_list out;
  for (auto& line : *lines) {
    out.entries_.push_back({base::sha256_of(line.token), {line.granted, std::move(line.name)}});
  }
  return out;
}

result<std::string> find_viewing_token(const std::string& path) {
  auto lines = read_lines(path);
  if (!lines) return lines.error();
  const auto viewer = std::find_if(lines->begin(), lines->end(),
                                   [](const auto& line) { return line.granted == access::view; });
  return std::move(viewer == lines->end() ? lines->front() : *viewer).token;
}

caller token_list::find(std::string_view authorization) const {
  constexpr std::string_view scheme = "bearer ";
  caller out;
  if (authorization.size() <= scheme.size() ||
      !base::iequals(authorization.substr(0, scheme.size()), scheme)) {
    return out;
  }
  const auto given = base::sha256_of(base::trim(authorization.substr(scheme.size())));
  for (const auto& one : entries_) {
    // All are compared, so that the time does not say which one fits.
    if (CRYPTO_memcmp(one.token.data(), given.data(), given.size()) == 0) out = one.holder;
  }
  return out;
}

}  // namespace onceguard::admin
