#include "config/table/quoted.hpp"

#include "base/url.hpp"
#include "base/value_text.hpp"

namespace onceguard::config {
namespace {

constexpr std::string_view hidden = "***";

/// `text` with all that may be secret behind its first `kept` characters hidden. A password may
/// hold "@" and "?" where they should be escaped.
std::string without_secrets(std::string_view text, std::size_t kept) {
  std::string out(text.substr(0, kept));
  auto rest = text.substr(kept);
  if (const auto login = rest.rfind('@'); login != rest.npos) {
    out += hidden;
    rest.remove_prefix(login);
  }
  const auto mark = rest.find_first_of("?#");
  out += rest.substr(0, mark);
  if (mark != rest.npos) out.append(rest.substr(mark, 1)).append(hidden);
  return out;
}

}  // namespace

std::string quoted(std::string_view text) {
  const auto scheme = base::before_authority(text);
  if (scheme.size() == text.size()) return base::quoted(text);
  return base::quoted(without_secrets(text, scheme.size()));
}

std::string quoted_url(std::string_view text) {
  const auto scheme = base::before_authority(text);
  return base::quoted(without_secrets(text, scheme.size() < text.size() ? scheme.size() : 0));
}

}  // namespace onceguard::config
