#include "store/postgres/connection/remedy.hpp"

#include <algorithm>
#include <array>

namespace onceguard::postgres {
namespace {

bool in_class(const failure& failed, std::string_view two) noexcept {
  return failed.sqlstate.starts_with(two);
}

template <std::size_t N>
bool is_one_of(const failure& failed, const std::array<std::string_view, N>& states) noexcept {
  return std::find(states.begin(), states.end(), failed.sqlstate) != states.end();
}

// No such schema, table, function or column, or the schema refuses an older program.
constexpr std::array<std::string_view, 4> schema_missing{"3F000", "42P01", "42883", "42703"};
constexpr std::array<std::string_view, 4> entry_refused{no_permission, "3D000", "28000", "28P01"};

/// Whether the prepared statements refer to objects that are gone, for example because the schema
/// was restored during the session. The server's internal messages are not translated.
bool is_of_another_schema(const failure& failed) noexcept {
  // A prepared statement's result, or without one the elements of an array, would be of other
  // types.
  if (failed.sqlstate == "0A000" || failed.sqlstate == "42804") return true;
  return failed.sqlstate == "XX000" && failed.text.find("cache lookup failed") != std::string::npos;
}

}  // namespace

bool is_of_another_session(const failure& failed) noexcept {
  return failed.sqlstate == "26000" || failed.sqlstate == "42P05";
}

remedy remedy_of(const failure& failed) noexcept {
  // A server that is read-only or shutting down: another server may be the primary now. Another
  // memory: a new session reads the identity first, and raises the tokens of an older copy.
  if (failed.lost || failed.sqlstate == another_memory || failed.sqlstate == "25006" ||
      in_class(failed, "57P") || is_of_another_schema(failed) || is_of_another_session(failed)) {
    return remedy::reconnect;
  }
  if (failed.sqlstate == floor_raised) return remedy::none;  // no request of the batch is at fault
  // A deadlock, a lock that is held too long, a value that does not fit, a damaged row, a bad
  // sector.
  constexpr std::array<std::string_view, 3> by_one{"55P03", "55006", "58030"};
  const bool one = in_class(failed, "22") || in_class(failed, "23") || in_class(failed, "40") ||
                   in_class(failed, "54") || in_class(failed, "XX") || in_class(failed, "OG") ||
                   is_one_of(failed, by_one);
  return one ? remedy::one_by_one : remedy::none;
}

namespace {

error error_of(const failure& failed, const std::string& name, effect on_store) {
  auto detail = name + ": " + failed.text;
  if (!failed.sqlstate.empty()) detail += " [" + failed.sqlstate + "]";
  constexpr auto cure = "; run: onceguard migrate --store URL";
  if (is_one_of(failed, schema_missing)) {
    return error(
        errc::invalid_argument,
        name + ": there is no schema onceguard of this version [" + failed.sqlstate + "]" + cure,
        on_store);
  }
  if (failed.sqlstate == older_schema) {
    return error(errc::invalid_argument, name + ": " + failed.text + cure, on_store);
  }
  if (failed.sqlstate == newer_schema) {
    return error(errc::invalid_argument, name + ": " + failed.text, on_store);
  }
  if (is_one_of(failed, entry_refused) || failed.sqlstate == statement_pooling)
    return error(errc::invalid_argument, detail, on_store);
  if (failed.sqlstate == another_memory) return error(errc::store_lost, detail, on_store);
  if (failed.sqlstate == "53100") return error(errc::store_full, detail, on_store);
  const bool damaged = in_class(failed, "XX") && !is_of_another_schema(failed);
  if (damaged || failed.sqlstate == "OG002")
    return error(errc::record_unreadable, detail, on_store);
  if (in_class(failed, "22") || in_class(failed, "54")) {
    return error(errc::invalid_argument, detail, on_store);
  }
  return error(errc::store_unreachable, detail, on_store);
}

}  // namespace

error to_error(const failure& failed, const std::string& name, effect on_store) {
  auto out = error_of(failed, name, on_store);
  out.lasting = misconfigured(failed);
  return out;
}

bool misconfigured(const failure& failed) noexcept {
  return failed.set_up || is_one_of(failed, schema_missing) || is_one_of(failed, entry_refused) ||
         failed.sqlstate == newer_schema || failed.sqlstate == older_schema ||
         failed.sqlstate == statement_pooling;
}

error lapsed(bool doubtful) {
  return error(errc::store_unreachable, "the store did not answer within its timeout",
               doubtful ? effect::unknown : effect::none);
}

error not_what_it_was(const std::string& name, effect on_store) {
  return error(errc::store_lost, name + ": its memory is not what it was", on_store);
}

bool transient(const failure& why) {
  return why.sqlstate.starts_with("40") || why.sqlstate == "55P03" || why.sqlstate == floor_raised;
}

}  // namespace onceguard::postgres
