#include "store/postgres/schema.hpp"

#include <algorithm>
#include <optional>

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/number_in.hpp"

namespace onceguard::postgres {
namespace {

// A migration holds this advisory lock until the end of its transaction. It does not wait long for
// a table that another transaction uses, because claims queue up behind the waiting migration.
constexpr std::string_view begin_alone =
    "BEGIN; SELECT pg_advisory_xact_lock(7308613715); SET LOCAL lock_timeout = '2s';"
    " SET LOCAL synchronous_commit = on;";
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

// What stands in the database under these names, so that one that was changed by hand shows.
constexpr std::string_view functions_found = R"sql(
(SELECT md5(string_agg(concat_ws('|', p.proname, p.prosrc, p.prosecdef, p.provolatile,
                                 p.proconfig::text), '' ORDER BY p.proname, p.prosrc))
 FROM pg_proc p WHERE p.pronamespace = 'onceguard'::regnamespace)
)sql";

std::string functions_hash() {
  base::sha256 hash;
  for (const auto text : functions()) hash.part(text);
  return base::to_hex(hash.finish());
}

/// As `onceguard.meta` keeps it: the version, and the hash of what was applied.
std::string functions_label() { return std::to_string(functions_version) + ':' + functions_hash(); }

std::string functions_script() {
  // They refer to one another.
  std::string out = "SET LOCAL check_function_bodies = off;\n";
  for (const auto text : functions()) out += text;
  return out + "UPDATE onceguard.meta SET functions = '" + functions_label() + "' || '-' || " +
         std::string(functions_found) + ";\n";
}

std::string script_of(const migration& one) {
  return std::string(one.sql) +
         "UPDATE onceguard.meta SET schema_version = " + std::to_string(one.number) + ";\n";
}

/// The schema that the database has.
struct schema_state {
  int version = 0;  ///< 0: nothing
  int minimum = 0;
  bool functions = false;     ///< they are those of this version
  int functions_version = 0;  ///< theirs; 0: of before they had one
};

result<int> number_from(const sql_runner& run, const std::string& sql) {
  auto reply = run(sql);
  if (!reply) return reply.error();
  const auto out = base::number_in<int>(*reply);
  if (!out) return error(errc::record_unreadable, "migrate: onceguard.meta holds no version");
  return *out;
}

result<schema_state> read_schema(const sql_runner& run) {
  schema_state out;
  auto there = run("SELECT coalesce(to_regclass('onceguard.meta')::text, '')");
  if (!there) return there.error();
  if (there->empty()) return out;
  auto known = number_from(run,
                           "SELECT count(*) FROM pg_attribute WHERE attname = 'functions'"
                           " AND attrelid = 'onceguard.meta'::regclass");
  if (!known) return known.error();
  if (*known == 0) {
    return error(errc::conflict,
                 "migrate: an earlier Onceguard made this schema, and it can't be brought to this "
                 "version's: export its keys with that one, type DROP SCHEMA onceguard CASCADE; "
                 "migrate, and import them");
  }
  auto version = number_from(run, "SELECT schema_version FROM onceguard.meta");
  if (!version) return version.error();
  auto minimum = number_from(run, "SELECT minimum_version FROM onceguard.meta");
  if (!minimum) return minimum.error();
  auto functions = run("SELECT functions = '" + functions_label() + "' || '-' || " +
                       std::string(functions_found) + " FROM onceguard.meta");
  if (!functions) return functions.error();
  auto theirs = number_from(
      run, "SELECT coalesce(substring(functions from '^([0-9]{1,9}):'), '0') FROM onceguard.meta");
  if (!theirs) return theirs.error();
  out.functions_version = *theirs;
  out.version = *version;
  out.minimum = *minimum;
  out.functions = *functions == "t";
  return out;
}

std::optional<error> refusal(const schema_state& found) {
  if (found.minimum <= schema_version) return std::nullopt;
  return error(errc::conflict,
               "migrate: this database belongs to a newer Onceguard: its schema is at version " +
                   std::to_string(found.version) + ", this one knows " +
                   std::to_string(schema_version));
}

result<migrated> migrate_alone(const sql_runner& run, bool finish) {
  auto missing = run(std::string(missing_right));
  if (!missing) return missing.error();
  if (!missing->empty()) return error(errc::store_unreachable, "migrate: " + *missing);
  auto found = read_schema(run);
  if (!found) return found.error();
  if (auto refused = refusal(*found)) return std::move(*refused);
  for (const auto& one : migrations()) {
    if (one.number <= found->version) continue;
    if (auto done = run(script_of(one)); !done) {
      auto why = done.error();
      why.detail = "migrate: " + std::string(one.name) + ": " + why.detail;
      return why;
    }
  }
  // The functions of a newer version serve this one too.
  const bool newer =
      found->version > schema_version || found->functions_version > functions_version;
  const bool others = !newer && !found->functions;
  if (others) {
    if (auto done = run(functions_script()); !done) {
      auto why = done.error();
      why.detail = "migrate: functions: " + why.detail;
      return why;
    }
  }
  if (finish) {
    if (auto done = run(std::string(finish_all)); !done) return done.error();
  }
  return migrated{found->version, std::max(found->version, schema_version), others};
}

}  // namespace

result<migrated> migrate(const sql_runner& run, bool finish) {
  if (auto begun = run(std::string(begin_alone)); !begun) return begun.error();
  auto out = migrate_alone(run, finish);
  if (!out) {
    // Only the first failure counts. Without a connection the server rolls back by itself.
    static_cast<void>(run("ROLLBACK"));
    return out;
  }
  if (auto done = run("COMMIT"); !done) return done.error();
  return out;
}

std::string migration_script(bool finish) {
  std::string out = std::string(begin_alone) + "\n";
  for (const auto& one : migrations()) {
    out += "\n-- " + std::string(one.name) + "\n" + script_of(one);
  }
  out += functions_script();
  if (finish) out += finish_all;
  return out + "COMMIT;\n";
}

}  // namespace onceguard::postgres
