// `onceguard init`: looks at the upstream, and writes a configuration file.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.hpp"
#include "cli/diagnose/credential_findings.hpp"
#include "cli/diagnose/machine_findings.hpp"
#include "cli/diagnose/upstream_findings.hpp"
#include "cli/init/init_file.hpp"
#include "cli/init/init_questions.hpp"
#include "config/load.hpp"
#include "config/table/parsers.hpp"
#include "text/json_text.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::init {
namespace {

struct init_request {
  init_answers answers;
  std::string callers;
  std::string file = "onceguard.toml";
  bool force = false;
  bool to_output = false;
  bool offline = false;
};

std::string upstream_fault(const std::string& text) {
  return config::refusal_of<config::parse_web_url>(text);
}
std::string path_fault(const std::string& text) {
  return config::refusal_of<config::parse_route_path>(text);
}
std::string callers_fault(const std::string& text) {
  if (find_callers_kind(text)) return {};
  return "expected authorization, cookie, signed, proxy or nobody";
}
std::string name_fault(const std::string& text) {
  return text.empty() ? "a name is needed" : std::string();
}
std::string no_fault(const std::string& /*text*/) { return {}; }

config::loaded read_back(const std::string& text, const std::string& file) {
  config::sources source;
  source.file = file;
  return config::load_text(text, source);
}

void print_remarks(const config::remarks& remarks) {
  for (const auto& one : remarks) std::cerr << one.text() << "\n";
}

class initialisation {
 public:
  explicit initialisation(const init_request& request)
      : request_(request),
        given_(request.answers),
        asks_(::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1),
        person_(std::cin, std::cerr) {}

  int run() {
    if (const auto why = file_refusal(); !why.empty()) {
      return end_with(exit_failed, request_.file + why);
    }
    if (!take_upstream()) {
      return end_with(exit_usage, "which service? Say it with --upstream http://HOST:PORT");
    }
    poll();
    if (!take_callers()) return exit_usage;
    take_rest();
    return write(init_text(given_, request_.file, found_));
  }

 private:
  /// Why the file must not be written; empty: it may.
  [[nodiscard]] std::string file_refusal() const {
    struct stat found {};
    if (request_.to_output || ::lstat(request_.file.c_str(), &found) != 0) return {};
    if (!request_.force) {
      return " is there already: --force writes it anew, --stdout shows what would be in it";
    }
    // The new file takes the name: a device or a link would be gone.
    if (!S_ISREG(found.st_mode)) return " is no regular file, and is left alone";
    return {};
  }

  bool take_upstream() {
    if (given_.upstream.empty() && asks_) {
      given_.upstream =
          person_.ask("The service's address", "http://127.0.0.1:9000", upstream_fault);
    }
    return !given_.upstream.empty();
  }

  /// With requests that change nothing.
  void poll() {
    if (request_.offline) return;
    const auto read =
        read_back("[[upstream]]\nname = \"service\"\nurl = " + json_string(given_.upstream) + "\n",
                  request_.file);
    if (!read.ok()) return;
    const auto& upstream = read.values.routing.upstreams.front();
    const auto& gateway = read.values.gateway;
    auto reached = diagnose::examine_upstream(upstream, {}, gateway.connect_timeout);
    if (reached.level != base::diagnosis::grade::ok) {
      std::cerr << "onceguard: " << terminal_text(reached.text) << "\n";
      found_ = {std::move(reached)};
      return;
    }
    std::vector<std::string> paths{"/"};
    paths.insert(paths.end(), given_.paths.begin(), given_.paths.end());
    seen_ = diagnose::poll_upstream(upstream, gateway, paths);
    found_ = diagnose::examine_answers(seen_, upstream.empty_body);
    given_.empty_length = std::any_of(seen_.answers.begin(), seen_.answers.end(),
                                      [](const auto& one) { return one.minor == 0; });
  }

  bool take_callers() {
    const auto scheme = diagnose::signed_scheme(seen_);
    const auto cookie = diagnose::cookie_of(seen_);
    const std::string likely = !scheme.empty()   ? "signed"
                               : !cookie.empty() ? "cookie"
                                                 : "authorization";
    auto callers = request_.callers;
    if (callers.empty() && asks_) {
      callers = person_.ask(
          "How does it know its callers?\n"
          "  authorization  a token or password in Authorization, the same at each try\n"
          "  cookie         the cookie of a session\n"
          "  signed         an Authorization that is signed for each request (Digest, AWS4 …)\n"
          "  proxy          a header that a proxy or a mesh in front sets\n"
          "  nobody         not at all\n"
          "Callers",
          likely, callers_fault);
    }
    given_.callers = *find_callers_kind(callers.empty() ? likely : callers);
    return take_name(scheme, cookie) && take_check();
  }

  bool take_name(const std::string& scheme, const std::string& cookie) {
    std::string proposal, title;
    switch (given_.callers) {
      case callers_kind::authorization:
      case callers_kind::nobody:
        return true;
      case callers_kind::cookie:
        proposal = cookie;
        title = "The cookie's name";
        break;
      case callers_kind::signature:
        proposal = scheme;
        title = "The scheme, as Digest or AWS4-HMAC-SHA256";
        break;
      case callers_kind::proxy:
        proposal = "X-Forwarded-User";
        title = "The header's name";
        break;
    }
    if (!given_.name.empty()) return true;
    given_.name = asks_ ? person_.ask(title, proposal, name_fault) : proposal;
    if (!given_.name.empty()) return true;
    end_with(exit_usage, title + " is not known: say it with --name NAME");
    return false;
  }

  /// Nobody but the service can tell whether a signature holds.
  bool take_check() {
    if (given_.callers != callers_kind::signature || !given_.replay_check.empty() ||
        !given_.trusted_proxies.empty()) {
      return true;
    }
    if (asks_) {
      given_.replay_check = person_.ask(
          "A path at which the service verifies the signature of a repeat", "/auth", path_fault);
      return true;
    }
    end_with(exit_usage,
             "with signed requests, who verifies a repeat's signature? Say --replay-check PATH of "
             "the service, or --trusted-proxy ADDRESS of the proxy that does");
    return false;
  }

  void take_rest() {
    if (!asks_ || !request_.callers.empty()) return;  // flags have said what is not usual
    given_.store =
        person_.ask("The store (sqlite:FILE, postgresql://…, redis://…)", given_.store, no_fault);
    given_.listen =
        person_.ask("Listen at", given_.listen, config::refusal_of<config::parse_endpoint>);
  }

  /// Only what the check takes is written.
  int write(const std::string& text) const {
    const auto read = read_back(text, request_.file);
    print_remarks(read.remarks);
    if (!read.ok()) return end_with(exit_configuration, "nothing was written");
    if (request_.to_output) {
      std::cout << text;
      return exit_ok;
    }
    if (const auto why = write_file(text); !why.empty()) {
      return end_with(exit_failed, request_.file + ": can't be written: " + why);
    }
    const auto name = plain_text(request_.file);
    std::cout << name << ": written. Next:\n"
              << "  onceguard check --config " << name << "\n"
              << "  onceguard doctor --config " << name << "\n"
              << "  onceguard gateway --config " << name << "\n";
    return exit_ok;
  }

  /// Whole or not at all: to another name first. Empty: it is written.
  [[nodiscard]] std::string write_file(const std::string& text) const {
    auto name = request_.file + ".XXXXXX";
    const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor < 0) return std::strerror(errno);
    std::string why;
    std::size_t done = 0;
    while (done < text.size() && why.empty()) {
      const auto wrote = ::write(descriptor, text.data() + done, text.size() - done);
      if (wrote < 0) why = std::strerror(errno);
      if (wrote > 0) done += static_cast<std::size_t>(wrote);
    }
    // It is made for its user alone, as one with a password stays.
    constexpr mode_t readable = 0644;
    if (why.empty() && !has_password(given_.store) && ::fchmod(descriptor, readable) != 0) {
      why = std::strerror(errno);
    }
    if (::close(descriptor) != 0 && why.empty()) why = std::strerror(errno);
    if (why.empty() && !put_file(name)) why = std::strerror(errno);
    if (!why.empty()) ::unlink(name.c_str());
    return why;
  }

  /// Without --force it never takes the place of another file, also not of one made meanwhile.
  [[nodiscard]] bool put_file(const std::string& name) const {
    if (request_.force) return ::rename(name.c_str(), request_.file.c_str()) == 0;
    if (::link(name.c_str(), request_.file.c_str()) != 0) return false;
    ::unlink(name.c_str());
    return true;
  }

  const init_request& request_;
  init_answers given_;
  const bool asks_;
  questions person_;
  diagnose::upstream_poll seen_;
  base::diagnoses found_;
};

}  // namespace

void add_init_command(const command& added) {
  const auto request = std::make_shared<init_request>();
  auto& answers = request->answers;
  added.add(
      {{"--upstream", &answers.upstream, "The service", single("URL", upstream_fault)},
       {"--callers", &request->callers, "How the service knows its callers",
        one_of({"authorization", "cookie", "signed", "proxy", "nobody"})},
       {"--name", &answers.name,
        "Of the cookie, of the proxy's header, or of the scheme that signs", single("NAME")},
       {"--replay-check", &answers.replay_check,
        "With signed: a path at which the service verifies the signature of a repeat",
        single("PATH", path_fault)},
       {"--trusted-proxy", &answers.trusted_proxies, "A proxy whose word for the caller is taken",
        typed("ADDRESS", config::refusal_of<config::parse_network>)},
       {"--store", &answers.store, "Where the records are kept [" + answers.store + "]",
        single("URL")},
       {"--listen", &answers.listen, "Where the gateway listens [" + answers.listen + "]",
        single("ADDRESS", config::refusal_of<config::parse_endpoint>)},
       {"--admin", &answers.admin, "Where its admin listener does [" + answers.admin + "]",
        single("ADDRESS")},
       {"--path", &answers.paths, "A route for this path; none: one for all",
        typed("PATH", path_fault)},
       {"--config", &request->file, "The file to write [" + request->file + "]", single("FILE")},
       {"--force", &request->force, "Write it also if it is there"},
       {"--stdout", &request->to_output, "Write to standard output, and no file"},
       {"--offline", &request->offline, "Send nothing to the service"}});
  added.runs([=] { return initialisation(*request).run(); });
}

}  // namespace onceguard::cli::init
