#include "cli/diagnose/credential_findings.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/json_reader.hpp"
#include "http/authorization.hpp"
#include "observing/request_parts.hpp"

namespace onceguard::cli::diagnose {
namespace {

using base::diagnoses;
using base::diagnosis;
using grade = diagnosis::grade;

constexpr const char* credentials_finding_id = "credentials";
constexpr const char* credentials_page = "docs/operations.md, Short-lived credentials";

/// As the table in docs/operations.md has them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> scopes_of_schemes{
    {{"digest", "auth-param:username,realm"},
     {"oauth", "auth-param:oauth_consumer_key,oauth_token"},
     {"aws4-hmac-sha256", "auth-param:credential"},
     {"goog4-rsa-sha256", "auth-param:credential"},
     {"goog4-hmac-sha256", "auth-param:credential"},
     {"hawk", "auth-param:id"},
     {"signature", "auth-param:keyId"},
     {"aws", "auth-param:1"}}};

/// How long a JSON Web Token lives, in seconds, as it says itself; none: it is none, or does not.
std::optional<std::int64_t> life_of(std::string_view authorization, std::int64_t now_s) {
  const auto space = authorization.rfind(' ');
  const auto token = authorization.substr(space == authorization.npos ? 0 : space + 1);
  const auto first = token.find('.');
  const auto second = first == token.npos ? first : token.find('.', first + 1);
  if (second == token.npos) return std::nullopt;
  const auto claims = base::from_base64url(token.substr(first + 1, second - first - 1));
  if (!claims) return std::nullopt;
  const auto read = nlohmann::json::parse(*claims, nullptr, false);
  if (!read.is_object()) return std::nullopt;
  const auto end = base::member<std::int64_t>(read, "exp");
  if (!end) return std::nullopt;
  return *end - base::member<std::int64_t>(read, "iat").value_or(now_s);
}

diagnosis report_signed(const std::string& scheme, const credential_facts& known,
                        const std::string& sign) {
  const auto stays = scope_of_scheme(scheme);
  const bool taken = known.scope != "credential";
  if (taken) {
    return {grade::ok, credentials_finding_id, sign + ", and the scope is " + known.scope, {}};
  }
  const auto text =
      sign + ": with scope = \"credential\" a request with a key gets 400 scope-missing";
  return {grade::warning, credentials_finding_id, text,
          (stays.empty() ? "take the part that stays, scope = \"auth-param:NAME\""
                         : "scope = \"" + std::string(stays) + "\"") +
              ", with replay_check or trusted_proxies; see " + credentials_page};
}

class credential_examination {
 public:
  explicit credential_examination(const credential_facts& known) : known_(known) {}

  diagnoses run() && {
    for (const auto& sample : known_.samples) one(sample);
    if (out_.empty()) rotation();
    if (out_.empty() && !known_.scheme.empty()) {
      out_.push_back(report_signed(
          known_.scheme, known_,
          "the service asks for " + known_.scheme + ", which is signed anew for each request"));
    }
    if (out_.empty() && !known_.samples.empty()) {
      out_.push_back({grade::ok,
                      credentials_finding_id,
                      std::to_string(known_.samples.size()) +
                          (known_.samples.size() == 1 ? " credential was" : " credentials were") +
                          " looked at: nothing in it changes from try to try",
                      {}});
    }
    return std::move(out_);
  }

 private:
  void one(const std::string& sample) {
    if (!out_.empty()) return;
    const auto scheme = std::string(http::scheme_of(sample));
    if (http::kind_of_credential(sample, known_.schemes) == http::credential_kind::changing) {
      const auto name = scheme.empty() ? std::string("an Authorization without a scheme") : scheme;
      out_.push_back(report_signed(scheme, known_, name + " may be signed anew for each request"));
      return;
    }
    constexpr std::int64_t day = 86'400;
    const auto life = life_of(sample, known_.now_s);
    if (!life || *life >= day || known_.scope != "credential") return;
    out_.push_back({grade::warning, credentials_finding_id,
                    "the token lives for " + std::to_string(*life) +
                        " s: a retry with the next one is a stranger with scope = \"credential\", "
                        "and runs again",
                    std::string("scope = \"jwt:sub\" with [jwt] keys_file, or \"header:NAME\" of a "
                                "trusted proxy; see ") +
                        credentials_page});
  }

  /// Samples of one caller and one scheme that differ.
  void rotation() {
    const std::set<std::string> different(known_.samples.begin(), known_.samples.end());
    if (different.size() < 2 || known_.scope != "credential") return;
    out_.push_back({grade::warning, credentials_finding_id,
                    std::to_string(different.size()) +
                        " different credentials of one caller: with scope = \"credential\" a retry "
                        "with another one is a stranger, and runs again",
                    std::string("take what stays of them: \"jwt:sub\", or \"header:NAME\" of a "
                                "trusted proxy; see ") +
                        credentials_page});
  }

  const credential_facts& known_;
  diagnoses out_;
};

}  // namespace

std::string_view scope_of_scheme(std::string_view scheme) {
  const auto* found =
      std::find_if(scopes_of_schemes.begin(), scopes_of_schemes.end(),
                   [&](const auto& known) { return base::iequals(known.first, scheme); });
  return found == scopes_of_schemes.end() ? std::string_view() : found->second;
}

std::string signed_scheme(const upstream_poll& seen) {
  for (const auto& one : seen.answers) {
    for (const auto& [name, value] : one.fields) {
      if (!base::iequals(name, "WWW-Authenticate")) continue;
      const auto scheme = value.substr(0, value.find(' '));
      if (!scope_of_scheme(scheme).empty()) return scheme;
    }
  }
  return {};
}

std::string cookie_of(const upstream_poll& seen) {
  for (const auto& one : seen.answers) {
    for (const auto& [name, value] : one.fields) {
      if (!base::iequals(name, "Set-Cookie")) continue;
      const auto cookie = base::trim(std::string_view(value).substr(0, value.find('=')));
      if (observing::names_a_session(cookie)) return std::string(cookie);
    }
  }
  return {};
}

diagnoses examine_credentials(const credential_facts& known) {
  return credential_examination(known).run();
}

}  // namespace onceguard::cli::diagnose
