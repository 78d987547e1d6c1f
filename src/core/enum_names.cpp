// The names of enumerators in commands, logs and problem details. Scripts read these names: never
// rename one.
#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard {
inline namespace v1 {
namespace {

/// For a number that is no enumerator, which only a programming error can produce.
constexpr std::string_view invalid = "invalid";

}  // namespace

std::string_view name_of(errc code) noexcept {
  switch (code) {
    case errc::store_unreachable:
      return "store_unreachable";
    case errc::store_full:
      return "store_full";
    case errc::store_lost:
      return "store_lost";
    case errc::record_unreadable:
      return "record_unreadable";
    case errc::not_found:
      return "not_found";
    case errc::conflict:
      return "conflict";
    case errc::invalid_argument:
      return "invalid_argument";
    case errc::overloaded:
      return "overloaded";
    case errc::write_conflict:
      return "write_conflict";
    case errc::broker_unreachable:
      return "broker_unreachable";
    case errc::stopped:
      return "stopped";
  }
  return invalid;
}

std::string_view name_of(observed_state state) noexcept {
  switch (state) {
    case observed_state::started:
      return "started";
    case observed_state::in_progress:
      return "in_progress";
    case observed_state::probing:
      return "probing";
    case observed_state::completed:
      return "completed";
    case observed_state::failed:
      return "failed";
    case observed_state::released:
      return "released";
    case observed_state::unknown:
      return "unknown";
  }
  return invalid;
}

std::string_view name_of(record_state state) noexcept {
  return state > record_state::released ? invalid : name_of(static_cast<observed_state>(state));
}

std::string_view name_of(unknown_reason reason) noexcept {
  switch (reason) {
    case unknown_reason::none:
      return "none";
    case unknown_reason::holder_gone:
      return "holder_gone";
    case unknown_reason::upstream_status:
      return "upstream_status";
    case unknown_reason::upstream_timeout:
      return "upstream_timeout";
    case unknown_reason::upstream_broken:
      return "upstream_broken";
    case unknown_reason::upgraded:
      return "upgraded";
    case unknown_reason::abandoned:
      return "abandoned";
    case unknown_reason::probe_inconclusive:
      return "probe_inconclusive";
  }
  return invalid;
}

std::string_view name_of(answer_kept kept) noexcept {
  switch (kept) {
    case answer_kept::full:
      return "full";
    case answer_kept::status_only:
      return "status_only";
    case answer_kept::too_large:
      return "too_large";
    case answer_kept::streamed:
      return "streamed";
    case answer_kept::none:
      return "none";
  }
  return invalid;
}

}  // namespace v1
}  // namespace onceguard
