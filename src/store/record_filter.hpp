// The words that choose records: the same in the command line and in the admin API.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

namespace onceguard {

/// Conditions by name, all of which must fit: "key", "scope" (its digest, or the beginning of it),
/// "state" (one of several), "route", "method", "reason", "text" (a part of the key), "older" and
/// "younger" (durations), "attention" ("true": only what needs a person).
class record_filter {
 public:
  /// The values of "state", with "unreadable".
  [[nodiscard]] static std::vector<std::string> states();
  /// The values of "reason".
  [[nodiscard]] static std::vector<std::string> reasons();

  /// errc::invalid_argument: there is no such name, or its value is wrong or empty, which would
  /// choose everything; the detail says which.
  [[nodiscard]] result<void> add(std::string_view name, const std::string& value);
  /// Is there any condition? An "attention" that is false is none.
  [[nodiscard]] bool any() const noexcept { return any_; }
  /// For changes: without a "state" or "attention", only what is unknown.
  void limit_to_unknown();

  /// The part of the filter that the store applies.
  [[nodiscard]] const list_filter& of_store() const noexcept { return of_store_; }
  /// Whether a record that the store listed fits the rest of the filter.
  [[nodiscard]] bool fits(const record_view& seen) const;

 private:
  list_filter of_store_;
  std::string scope_;
  bool only_unreadable_ = false;
  bool any_ = false;
};

/// A page of the records that fit the whole filter. The unreadable ones always do.
[[nodiscard]] boost::asio::awaitable<result<list_page>> list_filtered(record_access& records,
                                                                      const record_filter& filter,
                                                                      std::string cursor,
                                                                      std::size_t limit,
                                                                      milliseconds timeout);

/// The conditions of a store's filter, with which add() makes the same one.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> words_of(
    const list_filter& filter);

/// The enumerator with that name; none: there is no such name.
[[nodiscard]] std::optional<observed_state> state_of(std::string_view name) noexcept;
[[nodiscard]] std::optional<unknown_reason> reason_of(std::string_view name) noexcept;

}  // namespace onceguard
