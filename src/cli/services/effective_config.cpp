#include "cli/services/effective_config.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/address.hpp"
#include "base/url.hpp"
#include "config/all_options.hpp"
#include "text/record_json.hpp"
#include "tls/context.hpp"

namespace onceguard::cli::services {

using nlohmann::ordered_json;

namespace {

bool may_hold_secret(std::string_view name) {
  const auto& all = config::sections();
  return std::any_of(all.begin(), all.end(), [&](const config::section& section) {
    return std::any_of(section.options.begin(), section.options.end(),
                       [&](const config::option* o) { return o->secret && o->name == name; });
  });
}

/// What may hold a password is not shown: of the URL of a store, what stands behind the scheme; of
/// where else the application is asked, the query.
std::string without_secret(std::string_view option, const std::string& text) {
  std::string_view shown = text;
  if (may_hold_secret(option)) {
    shown = base::before_authority(text);
  } else if (option == "probe" || option == "replay_check") {
    shown = shown.substr(0, shown.find('?'));
  }
  return shown.size() == text.size() ? text : std::string(shown) + "…\"";
}

std::string quoted_setting(const std::string& text) { return ordered_json(text).dump(); }

std::string setting_list_text(const std::vector<std::string>& items) {
  return ordered_json(items).dump();
}

ordered_json upstream_json(const gateway::upstream_params& upstream) {
  base::server_address address;
  address.tcp = upstream.address;
  ordered_json out;
  out["name"] = quoted_setting(upstream.name);
  out["url"] = quoted_setting("http://" + address.text() + upstream.base_path);
  if (!upstream.identity.empty()) out["identity"] = quoted_setting(upstream.identity);
  return out;
}

ordered_json config_json(const config::settings& settings) {
  auto out = ordered_json::object();
  for (const auto& [title, value] : settings.fixed) {  // "[gateway] listen"
    const auto end = title.find(']');
    const auto table = title.substr(1, end - 1);
    const auto option = title.substr(end + 2);
    out[table][option] = without_secret(option, value);
  }
  out["upstream"] = ordered_json::array();
  for (const auto& upstream : settings.routing.upstreams) {
    out["upstream"].push_back(upstream_json(upstream));
  }
  out["route"] = ordered_json::array();
  for (std::size_t i = 0; i < settings.routing.routes.size(); ++i) {
    const auto& route = settings.routing.routes[i];
    ordered_json entry;
    entry["path"] = quoted_setting(route.path);
    if (!route.host.empty()) entry["host"] = quoted_setting(route.host);
    if (!route.method.empty()) entry["method"] = setting_list_text(route.method);
    if (route.upstream < settings.routing.upstreams.size()) {
      entry["upstream"] = quoted_setting(settings.routing.upstreams[route.upstream].name);
    }
    for (const auto& [option, value] : settings.route_options[i]) {
      entry[option] = without_secret(option, value);
    }
    out["route"].push_back(std::move(entry));
  }
  for (const auto& [name, options] : settings.policy_options) {
    ordered_json entry;
    entry["name"] = quoted_setting(name);
    for (const auto& [option, value] : options) entry[option] = without_secret(option, value);
    out["policy"].push_back(std::move(entry));
  }
  return out;
}

/// The options of each table, by its title and what tells it apart: `[[route]] "/charges"`.
std::map<std::string, ordered_json> titled_tables(const config::settings& settings) {
  std::map<std::string, ordered_json> out;
  const auto whole = config_json(settings);
  for (const auto& [name, content] : whole.items()) {
    if (content.is_object()) {
      out["[" + name + "]"] = content;
      continue;
    }
    for (const auto& entry : content) {
      auto title = "[[" + name + "]]";
      for (const char* part : {"name", "host", "path", "method"}) {
        if (entry.contains(part)) title += " " + entry[part].get<std::string>();
      }
      out[title] = entry;
    }
  }
  return out;
}

/// A value as the file has it; a long one loses its end.
std::string value_in(const ordered_json& table, const std::string& option) {
  constexpr std::size_t most = 80;
  auto out = table.value(option, std::string("(none)"));
  if (out.size() > most) out.replace(most, out.size(), "...");
  return out;
}

}  // namespace

std::string effective_config(const config::settings& settings) {
  return json_line(config_json(settings));
}

std::string changed_settings(const config::settings& before, const config::settings& after) {
  constexpr std::size_t most = 10;
  std::vector<std::string> changes;
  const auto old = titled_tables(before);
  const auto now = titled_tables(after);
  for (const auto& [title, table] : now) {
    const auto former = old.find(title);
    if (former == old.end()) {
      changes.push_back(title + ": added");
      continue;
    }
    std::set<std::string> options;
    for (const auto& [option, value] : table.items()) options.insert(option);
    for (const auto& [option, value] : former->second.items()) options.insert(option);
    for (const auto& option : options) {
      const auto former_value = value_in(former->second, option);
      const auto value = value_in(table, option);
      if (value == former_value) continue;
      changes.push_back(title + " " + option + ": " + former_value + " -> " + value);
    }
  }
  for (const auto& [title, table] : old) {
    if (!now.contains(title)) changes.push_back(title + ": removed");
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(most, changes.size()); ++i) {
    out += (i == 0 ? "" : "; ") + changes[i];
  }
  if (changes.size() > most) out += "; and " + std::to_string(changes.size() - most) + " more";
  return out.empty() ? "nothing that /api/config shows" : out;
}

std::string effective_routes(const config::settings& settings) {
  ordered_json out;
  out["routes"] = ordered_json::array();
  const auto& routing = settings.routing;
  for (std::size_t i = 0; i < routing.routes.size(); ++i) {
    const auto& route = routing.routes[i];
    ordered_json entry;
    entry["route"] = route.host + route.path;
    entry["methods"] = route.method;
    if (route.upstream < routing.upstreams.size()) {
      entry["upstream"] = routing.upstreams[route.upstream].name;
    }
    entry["policy"] = ordered_json::array();
    for (const auto& [option, value] : settings.route_options[i]) {
      ordered_json set{{"option", option}, {"value", without_secret(option, value)}};
      const auto& source = settings.route_sources[i].at(option);
      if (!source.table.empty()) set["table"] = source.table;
      if (!source.position.empty()) set["position"] = source.position;
      entry["policy"].push_back(std::move(set));
    }
    out["routes"].push_back(std::move(entry));
  }
  return json_line(out);
}

std::vector<std::pair<std::string, long long>> certificate_ends(const config::settings& settings) {
  const auto& listener = settings.gateway;
  std::set<std::string> paths{listener.tls_certificate, listener.tls_client_ca};
  for (const auto& upstream : settings.routing.upstreams) {
    if (!upstream.address.tls) continue;
    paths.insert(upstream.address.tls->files.ca);
    paths.insert(upstream.address.tls->files.certificate);
  }
  std::vector<std::pair<std::string, long long>> out;
  for (const auto& path : paths) {
    // It may have become anything meanwhile; opening a FIFO would wait for its writer.
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) continue;
    if (const auto end = tls::end_of_certificate(path)) out.emplace_back(path, *end);
  }
  return out;
}

}  // namespace onceguard::cli::services
