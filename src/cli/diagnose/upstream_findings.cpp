#include "cli/diagnose/upstream_findings.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "http/proxy_sign.hpp"

namespace onceguard::cli::diagnose {
namespace {

using base::diagnoses;
using base::diagnosis;
using grade = diagnosis::grade;

std::string request_text(const polled_answer& one) { return one.method + " " + one.path; }

/// Servers by a word in `Server` or `X-Powered-By`, and what is to be known of each.
struct known_server {
  std::string_view word;
  std::string_view text;
  std::string_view remedy;  ///< empty: there is nothing to mend
};
constexpr std::array known_servers{
    known_server{"werkzeug", "Flask's server for development: one connection for each request",
                 "gunicorn or uwsgi for more than a trial"},
    known_server{"caddy",
                 "Caddy, which sends a request without a body again if its connection breaks, "
                 "unless it is chunked, as a guarded one is",
                 "keep its lb_retry_match off for guarded methods; see docs/proxies.md"},
    known_server{"nginx", "nginx, which may ask its next server",
                 "set its proxy_next_upstream off; see docs/proxies.md"},
    known_server{"openresty", "nginx, which may ask its next server",
                 "set its proxy_next_upstream off; see docs/proxies.md"},
};

std::vector<base::field> fields_of(const polled_answer& one) {
  std::vector<base::field> out;
  for (const auto& [name, value] : one.fields) out.push_back({name, value});
  return out;
}

bool has_word(std::string_view text, std::string_view word) {
  return std::search(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) {
           return base::ascii_lower(a) == base::ascii_lower(b);
         }) != text.end();
}

/// Seconds since 1970, of a field Date.
std::optional<std::int64_t> date_of_answer(std::string_view text) {
  std::tm read{};
  const std::string whole(text);
  const auto* end = ::strptime(whole.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &read);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return ::timegm(&read);
}

/// Pages that a proxy writes in the place of the service.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> proxy_pages{
    {{"Guru Meditation", "Varnish"},
     {"No server is available to handle this request", "HAProxy"},
     {"no available server", "Traefik"},
     {"upstream connect error", "Envoy"},
     {"<center>nginx", "nginx"},
     {"<center>openresty", "nginx"}}};

/// The path of a Location, which may be a whole URL.
std::string_view redirect_path(std::string_view location) {
  const auto scheme = location.find("://");
  if (scheme != location.npos) {
    location.remove_prefix(std::min(location.find('/', scheme + 3), location.size()));
  }
  return location.substr(0, location.find_first_of("?#"));
}

std::string_view without_slash(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

/// Whether a redirect names one host, whatever host was asked.
bool leads_past(const std::optional<polled_answer>& renamed) {
  if (!renamed || !is_redirect(renamed->status)) return false;
  const auto where = renamed->field("Location");
  return where.find("://") != where.npos && where.find(another_host) == where.npos;
}

class answer_examination {
 public:
  answer_examination(const upstream_poll& seen, gateway::empty_framing empty_body)
      : seen_(seen), empty_body_(empty_body) {}

  diagnoses run() && {
    if (seen_.obstacle) return {*seen_.obstacle};
    proxy();
    server();
    status();
    redirect();
    version();
    length();
    coding();
    clock();
    requests();
    return std::move(out_);
  }

 private:
  template <class Test>
  [[nodiscard]] const polled_answer* first(const Test& test) const {
    const auto found = std::find_if(seen_.answers.begin(), seen_.answers.end(), test);
    return found == seen_.answers.end() ? nullptr : &*found;
  }
  void add(grade level, std::string id, const std::string& text, std::string remedy) {
    out_.push_back({level, std::move(id), seen_.title + text, std::move(remedy)});
  }

  void proxy() {
    std::string sign;
    for (const auto& one : seen_.answers) {
      if (sign.empty()) sign = http::proxy_sign(fields_of(one));
    }
    if (sign.empty()) {
      return add(grade::ok, "upstream", " takes connections, and shows no proxy", {});
    }
    add(grade::note, "upstream",
        " is reached through a proxy, as its answer shows (" + sign +
            "): a 503 of that leaves the outcome unknown",
        "where it says 503 only of what it has not sent, outcome = { \"503\" = \"release\" }; "
        "see docs/proxies.md");
  }

  void server() {
    std::string names;
    std::vector<const known_server*> known;
    for (const auto& one : seen_.answers) {
      for (const auto& [field, value] : one.fields) {
        if (!base::iequals(field, "Server") && !base::iequals(field, "X-Powered-By")) continue;
        if (names.find(value) != names.npos) continue;
        names += (names.empty() ? "" : ", ") + value;
        for (const auto& each : known_servers) {
          if (has_word(value, each.word)) known.push_back(&each);
        }
      }
    }
    if (names.empty()) return add(grade::ok, "upstream-server", " does not name its server", {});
    auto level = grade::ok;
    std::string text = " names its server: " + names;
    std::string remedy;
    for (const auto* each : known) {
      level = grade::note;
      text += "; there is " + std::string(each->text);
      remedy += (remedy.empty() ? "" : "; ") + std::string(each->remedy);
    }
    add(level, "upstream-server", text, std::move(remedy));
  }

  void status() {
    const auto* failed = first([](const auto& one) {
      return one.status == 502 || one.status == 503 || one.status == 504;
    });
    if (failed == nullptr) return;
    std::string owner = "the service itself, or a proxy";
    for (const auto& other : seen_.answers) {
      if (other.status != failed->status) continue;
      for (const auto& [page, name] : proxy_pages) {
        if (has_word(other.beginning, page)) owner = name;
      }
    }
    add(grade::warning, "upstream-status",
        " answers " + request_text(*failed) + " with " + std::to_string(failed->status) +
            ", which is of " + owner,
        "start the service that stands behind it; what a 503 of a proxy means: docs/proxies.md");
  }

  /// The place where a POST would go on, with its last slash or without, at this host or another.
  void redirect() {
    const auto* moved = first([&](const auto& one) {
      const auto whole = seen_.base_path + one.path;
      const auto where = one.field("Location");
      return is_redirect(one.status) && !where.empty() &&
             without_slash(redirect_path(where)) == without_slash(whole);
    });
    if (moved == nullptr) return;
    const auto path =
        std::string(redirect_path(moved->field("Location"))).substr(seen_.base_path.size());
    const auto text = " sends " + request_text(*moved) + " on to " +
                      std::string(moved->field("Location")) + " (" + std::to_string(moved->status) +
                      ")";
    const auto remedy = "let clients send to " + (path.empty() ? "/" : path) + " of the gateway";
    if (leads_past(seen_.renamed)) {
      return add(grade::warning, "upstream-redirect",
                 text +
                     ", whatever host it is asked as: who follows goes past the gateway, and "
                     "nothing is guarded there",
                 remedy +
                     ", and give the service the gateway's address as its own; see "
                     "docs/first-hour.md");
    }
    if (moved->status == 301 || moved->status == 302) {
      return add(grade::warning, "upstream-redirect",
                 text + ": most clients make a GET of a POST there, and the order is lost",
                 remedy + ", or let the service answer 308; see docs/first-hour.md");
    }
    add(grade::note, "upstream-redirect",
        text + ": a POST and its key follow, and both places count as one operation",
        remedy + ", which spares them a turn; see docs/first-hour.md");
  }

  void version() {
    const auto* old = first([](const auto& one) { return one.minor == 0; });
    if (old == nullptr) return;
    const bool set = empty_body_ == gateway::empty_framing::length;
    add(set ? grade::ok : grade::note, "upstream-version",
        " answers " + request_text(*old) +
            " with HTTP/1.0, which knows no chunks: a guarded request without a body goes as " +
            (set ? "Content-Length: 0" : "an empty chunk"),
        set ? "" : "set empty_body = \"length\" in its [[upstream]], or use a server of HTTP/1.1");
  }

  void length() {
    const auto* endless = first([](const auto& one) {
      return one.method != "HEAD" && one.body == http1::body_kind::until_eof;
    });
    if (endless == nullptr) return;
    add(grade::warning, "upstream-length",
        " answers " + request_text(*endless) +
            " without a length: such an answer is not kept, and a repeat gets 409 "
            "answer-not-kept, though nothing runs twice",
        "send Content-Length (in PHP header('Content-Length: ' . strlen($body))), or use a server "
        "that does; see docs/problems/answer-not-kept.md");
  }

  void coding() {
    const auto* coded =
        first([](const auto& one) { return !one.field("Content-Encoding").empty(); });
    if (coded == nullptr) return;
    add(grade::note, "upstream-coding",
        " answers " + request_text(*coded) + " in the coding " +
            std::string(coded->field("Content-Encoding")) +
            ": the first answer is replayed in it, and rules on its JSON can't read it",
        "let clients send the same Accept-Encoding at each try, as they do; see docs/proxies.md, "
        "Parts of an answer");
  }

  void clock() {
    constexpr std::int64_t usual = 5'000;  // a Date has whole seconds
    for (const auto& one : seen_.answers) {
      const auto date = date_of_answer(one.field("Date"));
      if (!date) continue;
      const auto ahead = *date * 1'000 - one.arrived_ms + one.taken_ms / 2;
      const auto size = std::abs(ahead);
      const auto text = " has a clock that is " + std::to_string(size / 1'000) + " s " +
                        (ahead < 0 ? "behind" : "ahead of") + " this machine's, by its Date";
      if (size < usual + one.taken_ms) {
        return add(grade::ok, "upstream-clock", text, {});
      }
      return add(grade::warning, "upstream-clock", text,
                 "synchronise both clocks (chrony, systemd-timesyncd): tokens and signatures end "
                 "by them");
    }
  }

  void requests() {
    std::string text;
    for (const auto& one : seen_.answers) {
      text += (text.empty() ? " was asked " : ", ") + request_text(one) + ": " +
              std::to_string(one.status);
    }
    add(grade::ok, "upstream-requests", text + "; nothing else was sent", {});
  }

  const upstream_poll& seen_;
  const gateway::empty_framing empty_body_;
  diagnoses out_;
};

}  // namespace

diagnoses examine_answers(const upstream_poll& seen, gateway::empty_framing empty_body) {
  return answer_examination(seen, empty_body).run();
}

}  // namespace onceguard::cli::diagnose
