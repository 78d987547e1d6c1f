#include "cli/hidden_arguments.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/url.hpp"

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

/// libpq takes passwords as parameters, too (`password`, `sslpassword`), and decodes their names.
void hide_parameters(std::span<char> text) {
  const std::string_view all(text.data(), text.size());
  for (auto equals = all.find('='); equals != all.npos; equals = all.find('=', equals + 1)) {
    const auto before = all.substr(0, equals);
    const auto name = before.substr(before.find_last_of("?& ") + 1);
    if (!base::percent_decoded(name).value_or(std::string(name)).ends_with("password")) continue;
    const auto end = std::min(all.find_first_of("& ", equals), all.size());
    overwrite(text.subspan(equals + 1, end - equals - 1));
  }
}

std::vector<std::string>& words() {
  static std::vector<std::string> all;
  return all;
}

std::span<char> shown;

void hide_passwords(std::span<char> text) {
  hide_user_password(text);
  hide_parameters(text);
}

}  // namespace

std::vector<std::string> take_arguments(int count, char** arguments) {
  words().assign(arguments, arguments + count);
  if (count > 0) {  // one after the other, as the kernel has put them (execve(2))
    const char* const end = arguments[count - 1] + std::string_view(arguments[count - 1]).size();
    shown = {arguments[0], static_cast<std::size_t>(end - arguments[0]) + 1};
  }
  std::vector<std::string> copies(arguments + std::min(count, 1), arguments + count);
  for (int i = 1; i < count; ++i) {
    hide_passwords({arguments[i], std::string_view(arguments[i]).size()});
  }
  return copies;
}

const std::vector<std::string>& given_words() { return words(); }

std::span<char> shown_words() noexcept { return shown; }

std::string without_passwords(std::string text) {
  hide_passwords(text);
  return text;
}

}  // namespace onceguard::cli
