#include "store/postgres/schema.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace onceguard::postgres {
namespace {

// A migration holds this advisory lock until the end of its transaction. It does not wait long for
// a table that another transaction uses, because claims queue up behind the waiting migration.
constexpr std::string_view begin_alone =
    "BEGIN; SELECT pg_advisory_xact_lock(7308613715); SET LOCAL lock_timeout = '2s';";
constexpr std::string_view finish_all =
    "UPDATE onceguard.meta SET minimum_version = schema_version;\n";

// Finds the permission that the migrating user lacks, and how to grant it; empty if none is
// missing. Without the roles only the owner could use the schema.
constexpr std::string_view missing_right = R"sql(
SELECT CASE
  WHEN n.oid IS NULL AND NOT has_database_privilege(current_database(), 'CREATE') THEN
    format('the role %1$I may not create a schema in the database %2$I; an administrator types: '
           'GRANT CREATE ON DATABASE %2$I TO %1$I;', current_user, current_database())
  WHEN NOT pg_has_role(n.nspowner, 'USAGE') THEN
    format('the schema onceguard belongs to the role %2$I; migrate as that role, or an '
           'administrator types: GRANT %2$I TO %1$I;', current_user, pg_get_userbyid(n.nspowner))
  WHEN absent IS NOT NULL AND meta IS NULL AND NOT (me.rolcreaterole OR me.rolsuper) THEN
    format('the role %I may not create roles, and there are some missing; an administrator '
           'types: %s', current_user, absent)
  ELSE '' END
FROM pg_roles me
  LEFT JOIN pg_namespace n ON n.nspname = 'onceguard'
  LEFT JOIN pg_class meta ON meta.relnamespace = n.oid AND meta.relname = 'meta'
  CROSS JOIN (SELECT string_agg(format('CREATE ROLE %I NOLOGIN;', wanted), ' ')
              FROM unnest(ARRAY['onceguard_gateway', 'onceguard_app']) wanted
              WHERE NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = wanted)) roles(absent)
WHERE me.rolname = current_user
)sql";

bool all_digits(std::string_view text) noexcept {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The layout's name as the database keeps it.
std::string whole_name(const std::string& layout) {
  if (layout.empty()) return "plain";
  return layout == "time" ? "time:1d" : layout;
}

std::string choose_layout(const std::string& layout) {
  return "SET LOCAL onceguard.layout = '" + whole_name(layout) + "';\n";
}

std::string script_of(const migration& one) {
  return std::string(one.sql) +
         "UPDATE onceguard.meta SET schema_version = " + std::to_string(one.number) + ";\n";
}

/// The schema that the database has.
struct schema_state {
  int version = 0;  ///< 0: nothing
  int minimum = 0;
  std::string layout;
};

result<int> number_from(const sql_runner& run, const std::string& sql) {
  auto reply = run(sql);
  if (!reply) return reply.error();
  int out = 0;
  const auto* end = reply->data() + reply->size();
  if (std::from_chars(reply->data(), end, out).ptr != end || reply->empty()) {
    return error(errc::record_unreadable, "migrate: onceguard.meta holds no version");
  }
  return out;
}

result<schema_state> read_schema(const sql_runner& run) {
  schema_state out;
  auto there = run("SELECT coalesce(to_regclass('onceguard.meta')::text, '')");
  if (!there) return there.error();
  if (there->empty()) return out;
  auto version = number_from(run, "SELECT schema_version FROM onceguard.meta");
  if (!version) return version.error();
  auto minimum = number_from(run, "SELECT minimum_version FROM onceguard.meta");
  if (!minimum) return minimum.error();
  auto layout = run("SELECT layout FROM onceguard.meta");
  if (!layout) return layout.error();
  out.version = *version;
  out.minimum = *minimum;
  out.layout = std::move(*layout);
  return out;
}

std::optional<error> refusal(const schema_state& found, const migration_params& params) {
  if (found.minimum > schema_version) {
    return error(errc::conflict,
                 "migrate: this database belongs to a newer Onceguard: its schema "
                 "is at version " +
                     std::to_string(found.version) + ", this one knows " +
                     std::to_string(schema_version));
  }
  if (found.version > 0 && !params.layout.empty() && whole_name(params.layout) != found.layout) {
    return error(errc::conflict, "migrate: the records are laid out as " + found.layout +
                                     "; another layout needs a database of its own");
  }
  return std::nullopt;
}

result<migrated> migrate_alone(const sql_runner& run, const migration_params& params) {
  auto missing = run(std::string(missing_right));
  if (!missing) return missing.error();
  if (!missing->empty()) return error(errc::store_unreachable, "migrate: " + *missing);
  auto found = read_schema(run);
  if (!found) return found.error();
  if (auto refused = refusal(*found, params)) return std::move(*refused);
  if (auto set = run(choose_layout(params.layout)); !set) return set.error();
  for (const auto& one : migrations()) {
    if (one.number <= found->version) continue;
    if (auto done = run(script_of(one)); !done) {
      auto why = done.error();
      why.detail = "migrate: " + std::string(one.name) + ": " + why.detail;
      return why;
    }
  }
  if (params.finish) {
    if (auto done = run(std::string(finish_all)); !done) return done.error();
  }
  auto reached = read_schema(run);
  if (!reached) return reached.error();
  return migrated{found->version, reached->version, std::move(reached->layout)};
}

}  // namespace

bool is_layout(std::string_view text) noexcept {
  if (text == "plain" || text == "time") return true;
  const bool hash = text.starts_with("hash:");
  if (!hash && !text.starts_with("time:")) return false;
  text.remove_prefix(5);
  if (!hash) {
    if (text.empty() || std::string_view("mhd").find(text.back()) == text.npos) return false;
    text.remove_suffix(1);
  }
  int number = 0;
  if (!all_digits(text) || text.size() > 4) return false;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return hash ? number >= 2 && number <= 1024 : number >= 1;
}

result<migrated> migrate(const sql_runner& run, const migration_params& params) {
  if (!params.layout.empty() && !is_layout(params.layout)) {
    return error(errc::invalid_argument, "migrate: layout: expected " + std::string(layout_names));
  }
  if (auto begun = run(std::string(begin_alone)); !begun) return begun.error();
  auto out = migrate_alone(run, params);
  if (!out) {
    // Only the first failure counts. Without a connection the server rolls back by itself.
    static_cast<void>(run("ROLLBACK"));
    return out;
  }
  if (auto done = run("COMMIT"); !done) return done.error();
  return out;
}

std::string migration_script(const migration_params& params, int version) {
  std::string out = std::string(begin_alone) + "\n" + choose_layout(params.layout);
  for (const auto& one : migrations()) {
    if (one.number > version) out += "\n-- " + std::string(one.name) + "\n" + script_of(one);
  }
  if (params.finish) out += finish_all;
  return out + "COMMIT;\n";
}

}  // namespace onceguard::postgres
