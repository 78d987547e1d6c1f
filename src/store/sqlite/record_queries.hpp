// What operators and watchers ask of a file. Each is one read transaction.
#pragma once
#include <onceguard/store.hpp>

#include "store/sqlite/session.hpp"

namespace onceguard::sqlite {

/// Failures of SQLite are thrown.
class record_queries {
 public:
  /// So many rows a page looks at, however few of them match.
  static constexpr std::size_t examined_max = 20'000;

  explicit record_queries(session& on);

  [[nodiscard]] result<std::optional<record_view>> find(const record_id& id);
  [[nodiscard]] result<list_page> list(const list_filter& filter, const std::string& cursor,
                                       std::size_t limit);
  [[nodiscard]] result<counts> count();
  [[nodiscard]] result<vitals> look_at_vitals();

 private:
  statement& rows_for(const std::optional<observed_state>& state);

  session& on_;
  statement find_, all_, settled_, unsettled_, count_settled_, count_unsettled_;
};

}  // namespace onceguard::sqlite
