// Finds out, in bulk, what became of the operations whose outcome is unknown.
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

namespace onceguard {

/// Where it can be learned whether an operation took effect.
class outcome_source {
 public:
  outcome_source() = default;
  outcome_source(const outcome_source&) = delete;
  outcome_source& operator=(const outcome_source&) = delete;
  virtual ~outcome_source() = default;

  /// "query", "probe": for those who read what was decided, and by which means.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Before a round: can it be asked at all?
  virtual boost::asio::awaitable<result<void>> prepare();
  /// Asked with the token of `held`, which fences earlier attempts off; what would change anything
  /// asks `held.may_go_on()` just before. Never fails: what is not a clear answer is unclear, and
  /// `why` says why.
  virtual boost::asio::awaitable<effect_report> ask(const subject& about,
                                                    const held_lease& held) = 0;
  /// What it would say now, without any change anywhere; none: it can't be asked so.
  virtual boost::asio::awaitable<std::optional<effect_report>> preview(const subject& about,
                                                                       token present);
};

/// How one record is to be asked about.
struct inquiry {
  outcome_source* source = nullptr;  ///< null: nobody can be asked
  milliseconds quiet{0};             ///< not before so long after the end of the last lease …
  milliseconds probe_after{0};       ///< … nor so long after the claim
  milliseconds retention{24 * 3'600'000};
};
using inquiry_chooser = std::function<inquiry(const subject&)>;

enum class finding_kind : std::uint8_t {
  done,           ///< it took effect: completed
  not_done,       ///< it did not, and earlier attempts are fenced off: released
  still_unknown,  ///< asked, without a clear answer, or nobody could be asked
  too_early,      ///< the first attempt may still be under way
  left_alone,     ///< somebody else had the record meanwhile
};
[[nodiscard]] std::string_view name_of(finding_kind) noexcept;

struct finding {
  finding_kind what = finding_kind::left_alone;
  record_view seen;        ///< the record as it stood
  std::string_view means;  ///< outcome_source::name(); empty: nobody was asked
  token fenced_with = 0;   ///< the token that the record got before the question; 0: none
  milliseconds retry_after{0};
  std::string why;       ///< for people; may be empty
  bool preview = false;  ///< nothing was fenced and nothing changed: not to be relied on
};
using finding_listener = std::function<void(const finding&)>;

/// A listener that writes each finding to the log, at a level that says whether it is news.
void log_finding(const finding& found);

struct reconcile_params {
  milliseconds store_timeout{2'000};
  std::size_t limit = 0;  ///< records that are looked at, at most; 0: all
  bool dry_run = false;   ///< only says what it would do
};

struct reconcile_counts {
  std::size_t done = 0, not_done = 0, still_unknown = 0, too_early = 0, left_alone = 0;
};

/// Looks at each record that is unknown, and for each takes a lease to ask with the next token
/// (which fences earlier attempts off, and keeps others from asking at the same time), asks, and
/// settles. `told` hears of each at once. Ends early with the store's error where the store is out
/// of reach; what it held then is unknown again once its lease is over. Runs on `io`, which one
/// thread runs.
[[nodiscard]] boost::asio::awaitable<result<reconcile_counts>> reconcile(
    boost::asio::io_context& io, store& records, reconcile_params params, inquiry_chooser choose,
    finding_listener listener);

}  // namespace onceguard
