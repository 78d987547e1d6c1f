// The configuration file that `onceguard init` writes. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnosis.hpp"

namespace onceguard::cli::init {

/// How the service knows its callers.
enum class callers_kind : std::uint8_t {
  authorization,  ///< by a credential that stays the same
  cookie,         ///< by the cookie of a session
  signature,      ///< by an Authorization that is signed anew for each request
  proxy,          ///< by a header that a proxy or a mesh sets
  nobody,         ///< not at all
};
/// "authorization", "cookie", "signed", "proxy", "nobody".
[[nodiscard]] std::string_view name_of(callers_kind kind);
[[nodiscard]] std::optional<callers_kind> find_callers_kind(std::string_view name);

struct init_answers {
  std::string upstream;
  std::string listen = "127.0.0.1:8080";
  std::string admin = "127.0.0.1:8081";
  std::string store = "sqlite:onceguard.db";
  callers_kind callers = callers_kind::authorization;
  std::string name;  ///< of the cookie, the header, or the scheme that signs
  std::string replay_check;
  std::vector<std::string> trusted_proxies;
  std::vector<std::string> paths;  ///< a route each; none: one for all
  bool empty_length = false;       ///< the service takes no chunks
};

/// Whether the URL of the store has a password in it.
[[nodiscard]] bool has_password(std::string_view url);

/// `file`: its name, for the commands in it. `found`: what a look at the upstream has found.
[[nodiscard]] std::string init_text(const init_answers& answers, std::string_view file,
                                    const base::diagnoses& found);

}  // namespace onceguard::cli::init
