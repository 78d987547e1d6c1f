// How claims, settles and extensions travel: one array of rows there, one row for each back.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>

#include "store/postgres/parameters.hpp"
#include "store/postgres/rows.hpp"
#include "store/postgres/statements.hpp"

namespace onceguard::postgres {

/// What of a store's memory is known: whose it is, and how far it had come when that was last told.
struct known_generation {
  std::string identity;
  std::uint64_t number = 0;
};

/// Two parameters; nulls where nothing is known.
void add_expected(parameters& parameters, const known_generation& expected);

/// What goes with a batch, beside its items.
struct batch_surroundings {
  const greeting& to;
  bool expiry_paused = false;
  const known_generation& expected;  ///< an empty identity: none
};

/// What the server said of one item.
template <class Outcome>
struct reply {
  enum class kind : std::uint8_t {
    answered,       ///< `outcome` has it
    locked,         ///< somebody else is writing this record at this moment
    needs_subject,  ///< the record is gone, and the item came without what it takes to write one
  };
  kind what = kind::answered;
  std::optional<result<Outcome>> outcome;
};

/// One item on its way, with what an earlier trip of it taught.
template <class Item>
struct parcel {
  const Item* item = nullptr;
  bool with_subject = false;
};

struct claims {
  using item = onceguard::claim;
  using outcome = verdict;
  static constexpr const char* statement = statement::claim;
  static constexpr bool announced = false;

  /// Why it can't be sent.
  [[nodiscard]] static std::optional<error> complaint(const item& item);
  [[nodiscard]] static std::size_t weight(const item& item) noexcept;
  [[nodiscard]] static parameters encode(const std::vector<parcel<item>>& items,
                                         const batch_surroundings& surroundings);
  /// One for each item, in their order. Throws unexpected_answer.
  [[nodiscard]] static std::vector<reply<outcome>> decode(const rows& rows,
                                                          const std::vector<parcel<item>>& items);
  /// How far the memory had come with each of the leases in a reply.
  struct generation_range {
    std::uint64_t lowest = 0;
    std::uint64_t highest = 0;
  };
  /// Empty: no lease is in the reply.
  [[nodiscard]] static std::optional<generation_range> generations_in(const rows& rows);
  /// While somebody else is writing its record.
  [[nodiscard]] static outcome locked();
  /// The verdict on `second`, a claim that came at the same time as `first` and counts as the later
  /// one. Empty: `second` must be sent to the database by itself.
  [[nodiscard]] static std::optional<outcome> verdict_of_joined(const item& first,
                                                                const outcome& reply,
                                                                const item& second);
  /// Whether verdict_of_joined() has a verdict on `second`, whatever the verdict on `first` is,
  /// unless `first` is refused.
  [[nodiscard]] static bool alike(const item& first, const item& second) noexcept;
};

struct settles {
  using item = settlement;
  using outcome = settled;
  static constexpr const char* statement = statement::settle;
  static constexpr bool announced = true;

  [[nodiscard]] static std::optional<error> complaint(const item& item);
  [[nodiscard]] static std::size_t weight(const item& item) noexcept;
  [[nodiscard]] static parameters encode(const std::vector<parcel<item>>& items,
                                         const batch_surroundings& surroundings);
  [[nodiscard]] static std::vector<reply<outcome>> decode(const rows& rows,
                                                          const std::vector<parcel<item>>& items);
};

struct extensions {
  using item = extension;
  using outcome = bool;
  static constexpr const char* statement = statement::extend;
  static constexpr bool announced = false;

  [[nodiscard]] static std::optional<error> complaint(const item& item);
  [[nodiscard]] static std::size_t weight(const item& item) noexcept;
  [[nodiscard]] static parameters encode(const std::vector<parcel<item>>& items,
                                         const batch_surroundings& surroundings);
  [[nodiscard]] static std::vector<reply<outcome>> decode(const rows& rows,
                                                          const std::vector<parcel<item>>& items);
};

using header_list = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] header_list read_headers(const rows& rows, int row, int column);
/// status, headers and body in three columns from `column` on; null where the status is.
[[nodiscard]] answer_ptr read_answer(const rows& rows, int row, int column);

/// What the server says where it can't read a record.
[[nodiscard]] error unreadable();

}  // namespace onceguard::postgres
