#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "cli/command.hpp"
#include "cli/diagnose/admin_findings.hpp"
#include "cli/diagnose/credential_findings.hpp"
#include "cli/diagnose/machine_findings.hpp"
#include "cli/diagnose/upstream_findings.hpp"
#include "cli/given_flags.hpp"
#include "cli/init/init_file.hpp"
#include "cli/keys/record_text.hpp"
#include "config/load.hpp"
#include "config/stores.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::diagnose {
namespace {

using base::diagnoses;
using base::diagnosis;
using grade = diagnosis::grade;

std::string_view name_of(grade level) {
  constexpr std::array<std::string_view, 4> names{"ok", "note", "warning", "fault"};
  return names.at(static_cast<std::size_t>(level));
}

grade level_of(config::remark::grade weight) {
  switch (weight) {
    case config::remark::grade::note:
      return grade::note;
    case config::remark::grade::warning:
      return grade::warning;
    case config::remark::grade::fault:
      return grade::fault;
  }
  return grade::fault;
}

void add(diagnoses& out, diagnoses more) {
  out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// What the configuration's check has to say stands in a remark as a whole.
void examine_configuration(const config::remarks& remarks, diagnoses& out) {
  for (const auto& r : remarks) {
    const auto position = r.position.text();
    out.push_back({level_of(r.weight),
                   "configuration",
                   position.empty() ? r.message : position + ": " + r.message,
                   {}});
  }
}

void examine_stores(const config::settings& settings, diagnoses& out) {
  const auto& known = config::known_stores();
  if (const auto* kind = known.kind_of(settings.store.url); kind->examine != nullptr) {
    add(out, kind->examine(settings.store, store_role::truth));
  }
  if (settings.accelerator.url.empty()) return;
  auto params = settings.store;
  params.url = settings.accelerator.url;
  if (const auto* kind = known.kind_of(params.url); kind->examine != nullptr) {
    add(out, kind->examine(params, store_role::accelerator));
  }
}

void examine_state_dir(const std::string& folder, diagnoses& out) {
  if (!folder.empty()) {
    out.push_back(examine_folder("state_dir", folder));
    return;
  }
  out.push_back({grade::note, "state-dir",
                 "there is no state_dir: a store that loses its memory while no gateway runs is "
                 "not noticed",
                 "set [gateway] state_dir to a directory that outlives restarts"});
}

/// Of the log, which has the lines of access, too, and of the audit log. Empty: there is none.
void examine_growing_file(std::string_view option, const std::string& file, diagnoses& out) {
  if (file.empty()) return;
  out.push_back(examine_file(option, file));
  out.push_back(examine_room(option, file));
}

std::string poll_path_fault(const std::string& text) {
  const bool whole =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
  return whole && text.starts_with('/') ? std::string() : "expected a path, such as /payments";
}

struct doctor_request {
  bool json = false;
  bool strict = false;
  std::vector<std::string> paths;    ///< to look at; none: the root and those of the routes
  std::vector<std::string> samples;  ///< values of Authorization, or names of files behind "@"
};

std::vector<std::string> paths_of(const doctor_request& request, const config::settings& settings,
                                  std::size_t upstream) {
  if (!request.paths.empty()) return request.paths;
  constexpr std::size_t paths_max = 8;
  std::vector<std::string> out{"/"};
  for (const auto& route : settings.routing.routes) {
    const bool known = std::find(out.begin(), out.end(), route.path) != out.end();
    if (route.upstream == upstream && !known && out.size() < paths_max) out.push_back(route.path);
  }
  return out;
}

/// Returns the scheme that the service asks for, if it is one that signs each request anew.
std::string examine_upstreams(const doctor_request& request, const config::settings& settings,
                              diagnoses& out) {
  std::string scheme;
  const auto& gateway = settings.gateway;
  for (std::size_t i = 0; i < settings.routing.upstreams.size(); ++i) {
    const auto& upstream = settings.routing.upstreams[i];
    auto found = examine_upstream(upstream, gateway.listen, gateway.connect_timeout);
    if (found.level != grade::ok) {
      out.push_back(std::move(found));
      continue;
    }
    const auto seen = poll_upstream(upstream, gateway, paths_of(request, settings, i));
    add(out, examine_answers(seen, upstream.empty_body));
    if (scheme.empty()) scheme = signed_scheme(seen);
  }
  return scheme;
}

/// The lines of files that are named behind "@" stand for themselves.
std::vector<std::string> read_samples(const std::vector<std::string>& given) {
  std::vector<std::string> out;
  for (const auto& one : given) {
    if (!one.starts_with('@')) {
      out.push_back(one);
      continue;
    }
    std::ifstream file(one.substr(1));
    for (std::string line; std::getline(file, line);) {
      if (!line.empty()) out.push_back(line);
    }
    if (!file.eof()) throw std::runtime_error(one.substr(1) + ": can't be read");
  }
  return out;
}

void examine_callers(const doctor_request& request, const config::settings& settings,
                     std::string scheme, diagnoses& out) {
  credential_facts known{.samples = read_samples(request.samples),
                         .scheme = std::move(scheme),
                         .scope = settings.defaults.scope.text(),
                         .schemes = settings.defaults.credential_schemes,
                         .now_s = base::system_clock().wall_ms() / 1'000};
  for (const auto& route : settings.routing.routes) {
    if (route.policy.scope.text() != "credential") continue;
    known.scope = "credential";
    known.schemes = route.policy.credential_schemes;
  }
  add(out, examine_credentials(known));
}

/// Of a file with the password of the store in it.
void examine_secrecy(const std::string& file, diagnoses& out) {
  struct ::stat found {};
  if (file.empty() || ::stat(file.c_str(), &found) != 0 || (found.st_mode & S_IROTH) == 0) return;
  out.push_back({grade::warning, "configuration-rights",
                 file + " has a password in it, and every user of this machine can read it",
                 "chmod o-r, or take url_file; see docs/operations.md, Passwords"});
}

diagnoses examine(const config::loaded& read, const doctor_request& request) {
  const auto& settings = read.values;
  diagnoses out;
  examine_configuration(read.remarks, out);
  examine_stores(settings, out);
  out.push_back(examine_listener("listen", settings.gateway.listen));
  add(out, examine_admin(settings.admin));
  out.push_back(examine_file_limit(settings.gateway.max_connections));
  out.push_back(examine_sandbox(settings.sandbox));
  examine_state_dir(settings.gateway.state_dir, out);
  examine_growing_file("log_file", settings.log.file, out);
  examine_growing_file("audit_log", settings.gateway.audit_log, out);
  for (const auto& each : settings.consumers) add(out, examine_consumer(each));
  examine_callers(request, settings, examine_upstreams(request, settings, out), out);
  return out;
}

std::size_t count(const diagnoses& found, grade level) {
  return static_cast<std::size_t>(std::count_if(
      found.begin(), found.end(), [&](const diagnosis& one) { return one.level == level; }));
}

void print_json(const diagnoses& found) {
  nlohmann::ordered_json whole;
  whole["findings"] = nlohmann::ordered_json::array();
  for (const auto& one : found) {
    whole["findings"].push_back({{"level", name_of(one.level)},
                                 {"id", one.id},
                                 {"text", one.text},
                                 {"remedy", one.remedy}});
  }
  whole["faults"] = count(found, grade::fault);
  whole["warnings"] = count(found, grade::warning);
  std::cout << json_line(whole) << "\n";
}

void print_text(const diagnoses& found) {
  constexpr std::size_t level_width = 9;
  for (const auto& one : found) {
    std::string line(name_of(one.level));
    line.resize(level_width, ' ');
    std::cout << line << one.id << ": " << terminal_text(one.text) << "\n";
    if (!one.remedy.empty()) {
      std::cout << std::string(level_width, ' ') << "-> " << terminal_text(one.remedy) << "\n";
    }
  }
  const auto faults = count(found, grade::fault);
  const auto warnings = count(found, grade::warning);
  std::cout << faults << (faults == 1 ? " fault, " : " faults, ") << warnings
            << (warnings == 1 ? " warning\n" : " warnings\n");
}

int run_doctor(const given_flags& given, const doctor_request& request) {
  const auto source = sources_of(given, false);
  const auto read = config::load(source);
  if (!read.ok()) {
    for (const auto& r : read.remarks) {
      if (r.weight == config::remark::grade::fault) std::cerr << r.text() << "\n";
    }
    return exit_configuration;
  }
  auto found = examine(read, request);
  if (init::has_password(read.values.store.url)) examine_secrecy(source.file, found);
  request.json ? print_json(found) : print_text(found);
  if (std::any_of(found.begin(), found.end(), [](const auto& one) { return one.out_of_reach; })) {
    return exit_store;
  }
  const bool weak = request.strict && count(found, grade::warning) != 0;
  return count(found, grade::fault) == 0 && !weak ? exit_ok : exit_failed;
}

}  // namespace

void add_doctor_command(const command& added) {
  const auto request = std::make_shared<doctor_request>();
  added.add({{"--json", &request->json, "As one JSON object"},
             {"--strict", &request->strict, "A warning ends with 1, too"},
             {"--path", &request->paths,
              "Look at this path of the upstreams; none: at / and at those of the routes",
              typed("PATH", poll_path_fault)},
             {"--authorization", &request->samples,
              "A value of Authorization as a caller sends it, or @FILE with a line for each; of "
              "several tries of one caller, whether it changes. It is sent nowhere",
              typed("VALUE")}});
  const auto given = add_all_flags(added);
  added.runs([=] { return run_doctor(*given, *request); });
}

}  // namespace onceguard::cli::diagnose
