#include "cli/init/init_file.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cli/diagnose/credential_findings.hpp"
#include "text/json_text.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::init {
namespace {

constexpr std::array<std::pair<callers_kind, std::string_view>, 5> callers_kinds{
    {{callers_kind::authorization, "authorization"},
     {callers_kind::cookie, "cookie"},
     {callers_kind::signature, "signed"},
     {callers_kind::proxy, "proxy"},
     {callers_kind::nobody, "nobody"}}};

constexpr std::size_t line_width = 96;

/// A basic string of TOML: what JSON escapes, TOML reads.
std::string quote(std::string_view text) { return json_string(text); }

std::string quote_all(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const auto& one : texts) out += (out.size() == 1 ? "" : ", ") + quote(one);
  return out + "]";
}

/// Appends the text as lines of a comment. Later lines are indented by `indent`.
void append_comment(std::string& out, std::string_view text, std::size_t indent = 0) {
  std::string line = "#";
  for (std::size_t position = 0; position < text.size();) {
    const auto end = std::min(text.find_first_of(" \n", position), text.size());
    const auto word = text.substr(position, end - position);
    if (line.size() + 1 + word.size() > line_width && line.size() > indent + 2) {
      out += line + "\n";
      line = "#" + std::string(indent, ' ');
    }
    line.append(" ").append(word);
    position = end + 1;
  }
  out += line + "\n";
}

/// The directory in which a SQLite store lies; empty: it is another store.
std::string store_folder(std::string_view store) {
  constexpr std::string_view scheme = "sqlite:";
  if (!store.starts_with(scheme)) return {};
  const auto path = store.substr(scheme.size(), store.find('?') - scheme.size());
  const auto slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return std::string(path.substr(0, std::max<std::size_t>(slash, 1)));
}

class init_writer {
 public:
  init_writer(const init_answers& answers, std::string_view file) : given_(answers), file_(file) {}

  std::string run(const base::diagnoses& found) && {
    head(found);
    gateway();
    store();
    defaults();
    upstream();
    routes();
    return std::move(out_);
  }

 private:
  void comment(std::string_view text) { append_comment(out_, text); }
  void set(std::string_view name, const std::string& value) {
    out_.append(name).append(" = ").append(value).append("\n");
  }

  void head(const base::diagnoses& found) {
    comment("Written by `onceguard init`. Every option is in docs/reference.md.");
    const auto name = plain_text(file_);
    out_ += "#\n#   onceguard check   --config " + name + "    what is wrong in it\n" +
            "#   onceguard doctor  --config " + name + "    and around it\n" +
            "#   onceguard gateway --config " + name + "    start\n#\n";
    comment("What a look at " + terminal_text(given_.upstream) + " found:");
    bool any = false;
    for (const auto& one : found) {
      const bool summary = one.id == "upstream-requests";
      if (one.level == base::diagnosis::grade::ok && !summary) continue;
      any = true;
      append_comment(out_, "- " + terminal_text(one.text), 2);
      if (!one.remedy.empty()) append_comment(out_, "  -> " + terminal_text(one.remedy), 5);
    }
    if (!any) comment("- nothing: it was not asked");
  }

  void gateway() {
    out_ += "\n[gateway]\n";
    comment("Clients send their requests here, and no longer to the service itself.");
    set("listen", quote(given_.listen));
    if (!given_.admin.empty()) {
      comment("For onceguard health and report, and for /metrics.");
      set("admin", quote(given_.admin));
    }
    const auto folder = store_folder(given_.store);
    comment("A witness of the store is kept here: one that lost its memory is noticed by it.");
    out_ += folder.empty() ? "# state_dir = \"/var/lib/onceguard\"\n"
                           : "state_dir = " + quote(folder) + "\n";
    comment(
        "As long as upstream_timeout, so that SIGTERM leaves no request in doubt. In Kubernetes "
        "set terminationGracePeriodSeconds to 70.");
    set("drain", "\"60s\"");
    if (!given_.trusted_proxies.empty()) {
      comment("What these send is believed: their word for the caller, and X-Forwarded-For.");
      set("trusted_proxies", quote_all(given_.trusted_proxies));
    }
  }

  void store() {
    out_ += "\n[store]\n";
    if (has_password(given_.store)) {
      comment("The URL has a password: keep this file to its user, or take url_file.");
    }
    set("url", quote(given_.store));
  }

  void defaults() {
    out_ += "\n[defaults]\n";
    comment(
        "Which requests are the same is said by their key, the header Idempotency-Key; whose "
        "key it is, by the scope.");
    scope();
    comment(
        "{}: what the service answers decides as it is usual: 2xx and 3xx are kept, 4xx, 501 and "
        "503 mean that nothing was done, but a 503 of a proxy and any other 5xx leave the outcome "
        "unknown. See docs/proxies.md.");
    set("outcome", "{}");
    comment(
        "First only count what guarding would do, for a day, and then ask `onceguard report "
        "--toml`:");
    out_ += "# observe = true\n";
    comment("Once all clients send keys, refuse requests without one:");
    out_ += "# required = true\n";
  }

  void scope() {
    switch (given_.callers) {
      case callers_kind::authorization:
        comment(
            "The Authorization that a caller sends, which must be the same at each try. Where "
            "tokens are renewed within hours, take \"jwt:sub\".");
        return set("scope", "\"credential\"");
      case callers_kind::nobody:
        comment(
            "Callers have no credential. What else is in their headers tells them apart, and "
            "a retry must send the same; another caller with the same key gets 422.");
        return set("scope", "\"credential\"");
      case callers_kind::cookie:
        comment("The cookie of the session.");
        return set("scope", quote("cookie:" + given_.name));
      case callers_kind::proxy:
        comment(
            "A header that the proxy in front sets at each request, and takes out of what "
            "clients send.");
        return set("scope", quote("header:" + given_.name));
      case callers_kind::signature:
        comment(given_.name + " signs each request anew; this part of it stays the same.");
        const auto known = diagnose::scope_of_scheme(given_.name);
        set("scope", quote(known.empty() ? "auth-param:" + given_.name : std::string(known)));
        if (given_.replay_check.empty()) return;
        comment(
            "Before a stored answer goes out, the service is asked here whether the signature "
            "holds. Onceguard-Method and Onceguard-Target say what it is made for.");
        set("replay_check", quote(given_.replay_check));
    }
  }

  void upstream() {
    out_ += "\n[[upstream]]\nname = \"service\"\n";
    set("url", quote(given_.upstream));
    if (!given_.empty_length) return;
    comment("It answers with HTTP/1.0, which knows no chunks.");
    set("empty_body", "\"length\"");
  }

  void routes() {
    for (const auto& path : given_.paths) {
      out_ += "\n[[route]]\n";
      set("path", quote(path));
      set("upstream", "\"service\"");
    }
  }

  const init_answers& given_;
  const std::string_view file_;
  std::string out_;
};

}  // namespace

std::string_view name_of(callers_kind kind) {
  return std::find_if(callers_kinds.begin(), callers_kinds.end(),
                      [&](auto& one) { return one.first == kind; })
      ->second;
}

std::optional<callers_kind> find_callers_kind(std::string_view name) {
  const auto* found = std::find_if(callers_kinds.begin(), callers_kinds.end(),
                                   [&](auto& one) { return one.second == name; });
  if (found == callers_kinds.end()) return std::nullopt;
  return found->first;
}

bool has_password(std::string_view url) {
  if (url.find("password=") != url.npos) return true;
  const auto begin = url.find("://");
  if (begin == url.npos) return false;
  const auto authority = url.substr(begin + 3, url.find('/', begin + 3) - begin - 3);
  const auto end = authority.rfind('@');
  return end != authority.npos && authority.substr(0, end).find(':') != authority.npos;
}

std::string init_text(const init_answers& answers, std::string_view file,
                      const base::diagnoses& found) {
  return init_writer(answers, file).run(found);
}

}  // namespace onceguard::cli::init
