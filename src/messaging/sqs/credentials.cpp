#include "messaging/sqs/credentials.hpp"

#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/field.hpp"
#include "base/value_text.hpp"
#include "messaging/sqs/failure.hpp"

namespace onceguard::messaging::sqs {
namespace {

/// Empty where it is not set.
std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

[[noreturn]] void refuse_credentials(const std::string& fault) {
  throw failed{error(errc::invalid_argument, "no credentials for Amazon SQS: " + fault)};
}

std::string default_file() {
  const auto home = variable("HOME");
  if (home.empty()) {
    refuse_credentials(
        "AWS_ACCESS_KEY_ID, AWS_SHARED_CREDENTIALS_FILE and HOME are not set in the environment");
  }
  return home + "/.aws/credentials";
}

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

credentials find_credentials() {
  credentials out{variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
                  variable("AWS_SESSION_TOKEN")};
  if (!out.key_id.empty() && !out.secret.empty()) return out;
  if (out.key_id.empty() != out.secret.empty()) {
    refuse_credentials("of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY one is not set");
  }
  auto file = variable("AWS_SHARED_CREDENTIALS_FILE");
  if (file.empty()) file = default_file();
  auto profile = variable("AWS_PROFILE");
  if (profile.empty()) profile = "default";
  std::ifstream text(file);
  if (!text) {
    refuse_credentials("AWS_ACCESS_KEY_ID is not set, and there is no readable file " +
                       base::quoted(file));
  }
  out = read_profile(text, profile);
  if (out.key_id.empty() || out.secret.empty()) {
    refuse_credentials("AWS_ACCESS_KEY_ID is not set, and the file " + base::quoted(file) +
                       " has no access key in the profile " + base::quoted(profile));
  }
  return out;
}

}  // namespace onceguard::messaging::sqs
