#include "cli/hidden_arguments.hpp"

#include <algorithm>
#include <span>
#include <string_view>

namespace onceguard::cli {
namespace {

void overwrite(std::span<char> secret) { std::fill(secret.begin(), secret.end(), '*'); }

/// `user:password@` behind the scheme. A password may hold "@" and "/" where it should be escaped,
/// so everything up to the last "@" counts.
void hide_user_password(std::span<char> text) {
  const std::string_view all(text.data(), text.size());
  const auto scheme = all.find("://");
  if (scheme == all.npos) return;
  const auto end = all.rfind('@');
  if (end == all.npos || end < scheme) return;
  const auto colon = all.find(':', scheme + 3);
  if (colon < end) overwrite(text.subspan(colon + 1, end - colon - 1));
}

/// libpq takes the password as a parameter, too.
void hide_parameter(std::span<char> text) {
  constexpr std::string_view name = "password=";
  const std::string_view all(text.data(), text.size());
  for (auto found = all.find(name); found != all.npos; found = all.find(name, found + 1)) {
    const auto begin = found + name.size();
    const auto end = std::min(all.find_first_of("& ", begin), all.size());
    overwrite(text.subspan(begin, end - begin));
  }
}

std::vector<std::string>& words() {
  static std::vector<std::string> all;
  return all;
}

void hide_passwords(std::span<char> text) {
  hide_user_password(text);
  hide_parameter(text);
}

}  // namespace

std::vector<std::string> take_arguments(int count, char** arguments) {
  words().assign(arguments, arguments + count);
  std::vector<std::string> copies(arguments + std::min(count, 1), arguments + count);
  for (int i = 1; i < count; ++i) {
    hide_passwords({arguments[i], std::string_view(arguments[i]).size()});
  }
  return copies;
}

const std::vector<std::string>& given_words() { return words(); }

std::string without_passwords(std::string text) {
  hide_passwords(text);
  return text;
}

}  // namespace onceguard::cli
