// The routes of a service.
#include <onceguard/http_config.hpp>

#include "config/policy/routes.hpp"
#include "config/table/document.hpp"
#include "config/table/table_reader.hpp"

namespace onceguard::http {
inline namespace v1 {
namespace {

using namespace config;

std::string_view home_of(std::string_view name) {
  const auto has = [&](const std::vector<const option*>& options) {
    for (const auto* o : options) {
      if (o->name == name) return true;
    }
    return false;
  };
  if (has(specs_of(policy_rows()))) return "[defaults]";
  if (has(specs_of(route_rows()))) return "[[route]]";
  return {};
}

/// The document without the gateway's tables, each of which is a fault.
void refuse_gateway_tables(const reading& source, node& document, remarks& out) {
  std::erase_if(document.members, [&](const member& entry) {
    for (const auto table : gateway_tables) {
      if (entry.name != table) continue;
      out.push_back({remark::grade::fault,
                     {layer::file, source.file, entry.line, entry.column},
                     "the table \"" + entry.name +
                         "\" is for the gateway; a service has [defaults] and [[route]]"});
      return true;
    }
    return false;
  });
}

policy_draft read_defaults(const reading& source, const node& document, remarks& out) {
  const auto known = specs_of(policy_rows());
  auto read = default_settings(source, known);
  if (const auto* table = find_table(source, document, "defaults", false, out)) {
    const auto given = read_table(source, known, *table, "[defaults]", layer::file, out);
    read.insert(read.end(), given.begin(), given.end());
  }
  policy_draft made;
  apply(policy_rows(), read, made);
  for (const auto& s : read) made.origins[s.spec->name] = s.position;
  return made;
}

error refusal_of(remarks found) {
  put_in_order(found);
  std::string detail;
  for (const auto& r : found) {
    if (r.weight != remark::grade::fault) continue;
    detail += (detail.empty() ? "" : "\n") + r.text();
  }
  return {errc::invalid_argument, std::move(detail)};
}

}  // namespace

result<route_config> parse_routes(std::string_view text, const std::string& name) {
  const reading source{name, front_door::service, home_of};
  remarks found;
  auto document = read_document(text, name, found);
  if (!document) return refusal_of(std::move(found));
  refuse_gateway_tables(source, *document, found);
  check_table_names(source, *document, route_tables, found);
  const auto defaults = read_defaults(source, *document, found);
  const auto* tables = find_table(source, *document, "route", true, found);
  route_config out;
  for (auto& each : config::read_routes(source, tables, defaults, found)) {
    out.routes.push_back(std::move(each.rule));
  }
  if (has_fault(found)) return refusal_of(std::move(found));
  put_in_order(found);
  for (const auto& r : found) {
    if (r.weight == remark::grade::warning) out.warnings.push_back(r.text());
  }
  return out;
}

result<route_config> read_routes(const std::string& path) {
  const auto text = read_document_file(path);
  if (!text) return error(errc::invalid_argument, path + ": " + text.error().detail);
  return parse_routes(*text, path);
}

}  // namespace v1
}  // namespace onceguard::http
