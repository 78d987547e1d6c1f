#include "aws/credentials.hpp"

#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/ascii.hpp"
#include "base/value_text.hpp"

namespace onceguard::aws {
namespace {

credentials read_profile(std::ifstream& text, const std::string& profile) {
  credentials out;
  std::string line;
  bool ours = false;
  while (std::getline(text, line)) {
    const auto trimmed = base::trim(std::string_view(line).substr(0, line.find('\r')));
    if (trimmed.empty() || trimmed.front() == '#' || trimmed.front() == ';') continue;
    if (trimmed.front() == '[') {
      const auto end = trimmed.find(']');
      ours = end != trimmed.npos && base::trim(trimmed.substr(1, end - 1)) == profile;
      continue;
    }
    const auto equals = trimmed.find('=');
    if (!ours || equals == trimmed.npos) continue;
    const auto name = base::trim(trimmed.substr(0, equals));
    const auto value = std::string(base::trim(trimmed.substr(equals + 1)));
    if (base::iequals(name, "aws_access_key_id")) out.key_id = value;
    if (base::iequals(name, "aws_secret_access_key")) out.secret = value;
    if (base::iequals(name, "aws_session_token")) out.session_token = value;
  }
  return out;
}

}  // namespace

std::string environment_value(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

kept_credentials find_kept_credentials() {
  credentials out;
  out.key_id = environment_value("AWS_ACCESS_KEY_ID");
  out.secret = environment_value("AWS_SECRET_ACCESS_KEY");
  out.session_token = environment_value("AWS_SESSION_TOKEN");
  if (!out.key_id.empty() && !out.secret.empty()) return {std::move(out), {}};
  if (out.key_id.empty() != out.secret.empty()) {
    return {{}, "of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY one is not set", false};
  }
  auto file = environment_value("AWS_SHARED_CREDENTIALS_FILE");
  auto profile = environment_value("AWS_PROFILE");
  const bool named = !file.empty() || !profile.empty();
  if (file.empty()) {
    const auto home = environment_value("HOME");
    if (home.empty()) {
      return {{},
              "AWS_ACCESS_KEY_ID, AWS_SHARED_CREDENTIALS_FILE and HOME are not set in the "
              "environment"};
    }
    file = home + "/.aws/credentials";
  }
  if (profile.empty()) profile = "default";
  std::ifstream text(file);
  if (!text) {
    return {{},
            "AWS_ACCESS_KEY_ID is not set, and there is no readable file " + base::quoted(file),
            !named};
  }
  out = read_profile(text, profile);
  if (out.key_id.empty() || out.secret.empty()) {
    return {{},
            "AWS_ACCESS_KEY_ID is not set, and the file " + base::quoted(file) +
                " has no access key in the profile " + base::quoted(profile),
            !named};
  }
  return {std::move(out), {}};
}

}  // namespace onceguard::aws
