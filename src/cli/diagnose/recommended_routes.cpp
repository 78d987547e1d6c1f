#include "cli/diagnose/recommended_routes.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/ascii.hpp"
#include "cli/diagnose/credential_findings.hpp"
#include "cli/diagnose/route_advice.hpp"
#include "text/json_text.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::diagnose {
namespace {

constexpr std::string_view authorization_prefix = "Authorization: ";
constexpr std::string_view cookie_prefix = "Cookie: ";
constexpr std::string_view member_prefix = "json:";
constexpr std::string_view header_prefix = "header:";

std::string number_text(std::uint64_t number, const char* unit) {
  return std::to_string(number) + " " + unit + (number == 1 ? "" : "s");
}

/// Members that say which try it is, or when, and nothing of the work. Everything else may be a
/// client that uses its keys for another operation, and leaving it out would hide that.
bool is_of_try(std::string_view pointer) {
  constexpr std::array<std::string_view, 18> names{
      "sent_at", "sentat",  "timestamp",  "ts",        "time",       "date",
      "sent",    "attempt", "attempts",   "retry",     "retries",    "try",
      "nonce",   "trace",   "request_id", "requestid", "created_at", "trace_id"};
  const auto name = pointer.substr(pointer.rfind('/') + 1);
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view known) { return base::iequals(known, name); });
}

class route_writer {
 public:
  route_writer(const path_traffic& seen, std::string& out) : seen_(seen), out_(out) {}

  void run() {
    comment(number_text(seen_.requests, "request") + ", " + std::to_string(seen_.with_key) +
            " with a key, " + number_text(seen_.tries, "repeat") + " of a key; " +
            std::to_string(seen_.differed) + " of them differed from the first");
    comment("known by: " + list_text(seen_.callers));
    if (!seen_.differing.empty()) comment("differing parts: " + list_text(seen_.differing));
    out_.append("[[route]]\npath = ").append(json_string(seen_.path)).append("\n");
    required();
    scope();
    fingerprint();
  }

 private:
  /// Names of members are strangers' text: one with a line break must not end the comment.
  void comment(const std::string& text) {
    auto line = terminal_text(text);
    std::replace(line.begin(), line.end(), '\n', '?');
    out_.append("# ").append(line) += '\n';
  }
  void set(std::string_view option, const std::string& value) {
    out_.append(option).append(" = ").append(value) += '\n';
  }

  static std::string list_text(const numbers_by_name& numbers) {
    std::string text;
    for (const auto& [name, count] : numbers) {
      text += (text.empty() ? "" : ", ") + name + " (" + std::to_string(count) + ")";
    }
    return text.empty() ? "nothing" : text;
  }

  void required() {
    if (seen_.with_key == seen_.requests) return set("required", "true");
    comment("required = true, once all send keys: " +
            number_text(seen_.requests - seen_.with_key, "request") +
            " had none, or an unusable one");
  }

  /// The source of this kind that all requests with a key have; null: there is none.
  template <class Test>
  [[nodiscard]] const std::string* common_source(const Test& test) const {
    for (const auto& [name, count] : seen_.callers) {
      if (count == seen_.with_key && test(name)) return &name;
    }
    return nullptr;
  }
  [[nodiscard]] std::uint64_t differing(const std::string& name) const {
    const auto found = seen_.differing.find(name);
    return found == seen_.differing.end() ? 0 : found->second;
  }

  void scope() {
    const auto* const known =
        common_source([](const auto& name) { return name.starts_with(authorization_prefix); });
    if (known != nullptr) return scope_of_authorization(known->substr(authorization_prefix.size()));
    const auto* const session =
        common_source([](const auto& name) { return name.starts_with(cookie_prefix); });
    const auto* const other = common_source([](const auto& name) {
      return !name.starts_with(authorization_prefix) && !name.starts_with(cookie_prefix) &&
             name.find(' ') == name.npos;
    });
    if (other != nullptr && session == nullptr) return scope_of_header(*other);
    if (session != nullptr) {
      return set("scope", json_string("cookie:" + session->substr(cookie_prefix.size())));
    }
    comment(
        "no one source is in all requests; who has no Authorization is told apart by all its "
        "headers");
    set("scope", "\"credential\"");
  }

  /// A secret can't be written by somebody else; a name can, unless a proxy sees to it.
  void scope_of_header(const std::string& name) {
    if (const auto times = differing(std::string(header_prefix) + lower(name)); times != 0) {
      comment(name + " was another at " + number_text(times, "repeat"));
    }
    const auto plain = lower(name);
    const bool secret = plain.find("key") != plain.npos || plain.find("token") != plain.npos;
    if (secret) return set("scope", json_string("header:" + name));
    comment("all have " + name + "; where a proxy sets it, and takes it out of what clients send:");
    comment("scope = " + json_string("header:" + name));
    set("scope", "\"credential\"");
  }

  void scope_of_authorization(const std::string& scheme) {
    const auto stays = scope_of_scheme(scheme);
    const auto times = differing("header:authorization");
    if (!stays.empty()) {
      comment(scheme +
              " signs each try anew, and is refused by \"credential\"; take instead, with "
              "replay_check or trusted_proxies:");
      comment("scope = " + json_string(stays));
    } else if (times != 0) {
      comment("its Authorization was another at " + number_text(times, "repeat") +
              ", which would run again; where it is a token, take, with [jwt] keys_file:");
      comment("scope = \"jwt:sub\"");
    }
    set("scope", "\"credential\"");
  }

  void fingerprint() {
    std::vector<std::string> omitted;
    bool other = false;
    for (const auto& [name, count] : seen_.differing) {
      if (!name.starts_with(member_prefix)) continue;
      const auto pointer = name.substr(member_prefix.size());
      if (is_of_try(pointer) && terminal_text(pointer) == pointer &&
          pointer.find('\n') == pointer.npos) {
        omitted.push_back(pointer);
        continue;
      }
      other = true;
      comment(pointer + " was another at " + number_text(count, "repeat") +
              ": 422, unless it is no part of the work; then add it to fingerprint_omit");
    }
    if (differing("body") > seen_.spelled) {
      comment("a body that is no JSON differed: 422, as the client used its key for other work");
    }
    if (omitted.empty() && seen_.spelled == 0) {
      return other ? comment("fingerprint = \"json\" is needed for that")
                   : set("fingerprint", "\"exact\"");
    }
    if (seen_.spelled != 0) {
      comment(number_text(seen_.spelled, "repeat") + " spelt the same JSON in another way");
    }
    set("fingerprint", "\"json\"");
    if (omitted.empty()) return;
    std::string list;
    for (const auto& pointer : omitted) list += (list.empty() ? "" : ", ") + json_string(pointer);
    comment("they say when it was sent, or at which try, and nothing of the work");
    set("fingerprint_omit", "[" + list + "]");
  }

  static std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = base::ascii_lower(c);
    return out;
  }

  const path_traffic& seen_;
  std::string& out_;
};

void append_known_route(const std::string& name, const route_traffic& seen, std::string& out) {
  const auto slash = name.find('/');
  if (slash == name.npos) return;
  out += "\n# " + number_text(seen.requests, "request") + ", " + std::to_string(seen.with_key) +
         " with a key, " + number_text(seen.repeats, "repeat") + "\n";
  for (const auto& [setting, why] : advise(seen)) {
    out += "# " + setting + ": " + terminal_text(why) + "\n";
  }
  out += "[[route]]\npath = " + json_string(name.substr(slash)) + "\n";
  if (slash != 0) out += "host = " + json_string(name.substr(0, slash)) + "\n";
  if (seen.requests != 0 && seen.with_key == seen.requests) out += "required = true\n";
}

}  // namespace

std::string recommended_routes(const traffic& seen) {
  std::string out = "# By `onceguard report --toml`, of requests from " + seen.begin + " until " +
                    seen.end + ".\n# Put it in the place of the routes that observe" +
                    ", and ask `onceguard check`.\n";
  for (const auto& [name, counts] : seen.routes) {
    for (const auto& path : counts.paths) {
      out += '\n';
      if (path.with_key == 0) {
        out += "# " + terminal_text(path.path) + ": " + number_text(path.requests, "request") +
               ", none with a key that could be used; guarding changes nothing there\n";
        continue;
      }
      route_writer(path, out).run();
    }
    if (counts.paths.empty()) append_known_route(name, counts, out);
  }
  return out;
}

}  // namespace onceguard::cli::diagnose
