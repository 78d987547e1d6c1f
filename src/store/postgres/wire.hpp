// How claims, settles and extensions are sent: a batch as one array of rows, with one result row
// for each item.
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

/// What is known of a database's memory: its identity, and its generation when it was last
/// reported.
struct known_generation {
  std::string identity;
  std::uint64_t number = 0;
};

/// Two parameters; nulls if nothing is known.
void add_expected(parameters& parameters, const known_generation& expected);

/// The parameters of a batch apart from its items.
struct batch_surroundings {
  const greeting& to;
  bool expiry_paused = false;
  const known_generation& expected;  ///< an empty identity: none
};

/// The server's reply to one item.
template <class Outcome>
struct reply {
  enum class kind : std::uint8_t {
    answered,       ///< `outcome` has it
    locked,         ///< another transaction is writing this record
    needs_subject,  ///< the record is gone, and writing it takes the subject, which was not sent
  };
  kind what = kind::answered;
  std::optional<result<Outcome>> outcome;
};

/// One item in flight, with what an earlier trip has shown.
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

  /// The reason why the item can't be sent; empty: it can.
  [[nodiscard]] static std::optional<error> complaint(const item& item);
  [[nodiscard]] static std::size_t weight(const item& item) noexcept;
  [[nodiscard]] static parameters encode(const std::vector<parcel<item>>& items,
                                         const batch_surroundings& surroundings);
  /// One for each item, in their order. Throws unexpected_answer.
  [[nodiscard]] static std::vector<reply<outcome>> decode(const rows& rows,
                                                          const std::vector<parcel<item>>& items);
  /// The generation with the lease of each item, in the order of the items. 0: no lease, or one
  /// that was granted before.
  [[nodiscard]] static std::vector<std::uint64_t> generations_in(const rows& rows,
                                                                 std::size_t items);
  /// The verdict while another transaction is writing the record.
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
/// Status, headers and body in three columns from `column` on. Null if the status is null.
[[nodiscard]] answer_ptr read_answer(const rows& rows, int row, int column);

/// The error for a record that the server can't read.
[[nodiscard]] error unreadable();

}  // namespace onceguard::postgres
