// Finds out, in bulk, the outcomes of the operations whose outcome is unknown.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/engine.hpp>
#include <onceguard/error.hpp>
#include <onceguard/store.hpp>

#include "audit/audit_log.hpp"

namespace onceguard {

/// A source that reports whether an operation took effect.
class outcome_source {
 public:
  outcome_source() = default;
  outcome_source(const outcome_source&) = delete;
  outcome_source& operator=(const outcome_source&) = delete;
  virtual ~outcome_source() = default;

  /// "query" or "probe": the kind of the source, for the log and for people.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Called before a round; fails if the source can't be used at all.
  virtual boost::asio::awaitable<result<void>> prepare();
  /// Asks about one operation, with the token of `held`, which fences earlier attempts. A source
  /// that would change anything calls `held.may_go_on()` just before. Never fails: an ambiguous
  /// answer gives `unknown`, and `why` has the reason.
  virtual boost::asio::awaitable<effect_report> ask(const subject& about,
                                                    const held_lease& held) = 0;
  /// The report that ask() would give now, without any change anywhere; none: the source has no
  /// such preview.
  virtual boost::asio::awaitable<std::optional<effect_report>> preview(const subject& about,
                                                                       token present);
};

/// How to find out the outcome of one record.
struct inquiry {
  outcome_source* source = nullptr;  ///< null: there is no source
  milliseconds quiet{0};             ///< wait for this time after the end of the last lease …
  milliseconds probe_after{0};       ///< … and for this time after the claim
  milliseconds retention{24 * 3'600'000};
};
using inquiry_chooser = std::function<inquiry(const subject&)>;

enum class finding_kind : std::uint8_t {
  done,           ///< the operation took effect; the record is completed
  not_done,       ///< the operation was not done, and earlier attempts are fenced; the record is
                  ///< released
  still_unknown,  ///< the source gave no clear answer, or there is no source
  too_early,      ///< the first attempt may still be under way
  left_alone,     ///< another lease or an operator changed the record meanwhile
};
[[nodiscard]] std::string_view name_of(finding_kind) noexcept;

struct finding {
  finding_kind kind = finding_kind::left_alone;
  record_view seen;        ///< the record before the question
  std::string_view means;  ///< outcome_source::name(); empty: there is no source
  token fenced_with = 0;   ///< the token of the probe lease; 0: none
  milliseconds retry_after{0};
  std::string why;       ///< for people; may be empty
  bool preview = false;  ///< nothing was fenced and nothing changed: the finding is not reliable
};
using finding_listener = std::function<void(const finding&)>;

/// A listener that writes each finding to the log; a finding that would only repeat itself gets the
/// level debug.
void log_finding(const finding& found);

struct reconcile_params {
  milliseconds store_timeout{2'000};
  milliseconds lease{30'000};  ///< of each probe lease; renewed while the source is working
  std::size_t limit = 0;       ///< the most records to process; 0: all
  bool dry_run = false;        ///< only reports what would be done
  /// Each change is written here before it is made. Must outlive the call; null: nowhere.
  audit_log* audit = nullptr;
  audit_author author{};  ///< the reason is that of each finding
};

struct reconcile_counts {
  std::size_t done = 0, not_done = 0, still_unknown = 0, too_early = 0, left_alone = 0;
};

/// Goes through all records whose outcome is unknown. For each record, takes a probe lease with the
/// next token (which fences earlier attempts and prevents other processes from asking at the same
/// time), asks the source, and settles. The listener is called with each finding at once. Ends
/// early with the store's error if the store can't be reached; the records that were leased then
/// are unknown again once their leases are over. Runs on `io`, which one thread runs.
[[nodiscard]] boost::asio::awaitable<result<reconcile_counts>> reconcile(
    boost::asio::io_context& io, store& records, reconcile_params params, inquiry_chooser choose,
    finding_listener listener);

}  // namespace onceguard
