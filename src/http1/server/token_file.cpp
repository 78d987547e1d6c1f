#include "http1/server/token_file.hpp"

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <sys/stat.h>
#include <system_error>

#include <openssl/crypto.h>

#include "base/ascii.hpp"
#include "base/file_text.hpp"
#include "base/hash.hpp"

namespace onceguard::http1 {

namespace {

constexpr std::size_t token_size_min = 16;
constexpr std::size_t file_size_max = 1u << 20;

struct token_line {
  std::string token;
  token_holder holder;
};

/// "\"operator TOKEN\" or \"viewer TOKEN\"".
std::string expected_lines(const token_rules& rules) {
  std::string out;
  for (const auto role : rules.roles) {
    out += (out.empty() ? "\"" : " or \"") + std::string(role) + " TOKEN\"";
  }
  return out;
}

result<std::vector<token_line>> read_lines(const std::string& path, const token_rules& rules) {
  const auto refused = [&](const std::string& fault) {
    return error(errc::invalid_argument, std::string(rules.option) + " " + path + ": " + fault);
  };
  const auto held = base::read_file(path, file_size_max);
  if (!held) return refused(held.error().detail);
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) {
    return refused("can't be read: " + std::generic_category().message(errno));
  }
  std::istringstream input(*held);
  if ((about.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    return refused("others than its owner and group may read or write it; chmod o-rwx");
  }
  std::vector<token_line> out;
  std::string line;
  for (std::size_t number = 1; std::getline(input, line); ++number) {
    std::istringstream words(line);
    token_line one;
    auto& role = one.holder.role;
    if (!(words >> role) || role.starts_with('#')) continue;
    const auto where = "line " + std::to_string(number) + ": ";
    if (std::find(rules.roles.begin(), rules.roles.end(), role) == rules.roles.end()) {
      return refused(where + "expected " + expected_lines(rules));
    }
    if (!(words >> one.token) || one.token.size() < token_size_min) {
      return refused(where + "a token has at least " + std::to_string(token_size_min) +
                     " characters");
    }
    if (!(words >> one.holder.name)) one.holder.name = role;
    std::string more;
    if (words >> more) return refused(where + "expected one word behind the token, a name");
    out.push_back(std::move(one));
  }
  if (out.empty()) return refused("holds no token");
  return out;
}

}  // namespace

result<token_file> token_file::read(const std::string& path, const token_rules& rules) {
  auto lines = read_lines(path, rules);
  if (!lines) return lines.error();
  token_file out;
  for (auto& line : *lines) {
    out.entries_.push_back({base::sha256_of(line.token), std::move(line.holder)});
  }
  return out;
}

result<std::string> find_token(const std::string& path, const token_rules& rules,
                               std::string_view role) {
  auto lines = read_lines(path, rules);
  if (!lines) return lines.error();
  const auto found = std::find_if(lines->begin(), lines->end(),
                                  [&](const auto& line) { return line.holder.role == role; });
  return std::move(found == lines->end() ? lines->front() : *found).token;
}

const token_holder* token_file::find(std::string_view authorization) const {
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() <= scheme.size() ||
      !base::iequals(authorization.substr(0, scheme.size()), scheme)) {
    return nullptr;
  }
  const token_holder* out = nullptr;
  const auto given = base::sha256_of(base::trim(authorization.substr(scheme.size())));
  for (const auto& one : entries_) {
    // All are compared, so that the time does not say which one fits.
    if (CRYPTO_memcmp(one.token.data(), given.data(), given.size()) == 0) out = &one.holder;
  }
  return out;
}

}  // namespace onceguard::http1
