// The queries of operators and polls on a store's file. Each query is one read transaction.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/store.hpp>

#include "store/sqlite/session.hpp"

namespace onceguard::sqlite {

/// A damaged page hides only the records on it, and their ids are listed as unreadable. Failures of
/// SQLite are thrown.
class record_queries {
 public:
  /// One page of results examines so many rows at most, and begins no row later than this, however
  /// few of them match.
  static constexpr std::size_t examined_max = 20'000;
  static constexpr std::chrono::milliseconds longest{100};
  /// Notes of unreadable records that a list of what needs a person takes.
  static constexpr std::size_t notes_max = 1'000;

  explicit record_queries(session& session);

  [[nodiscard]] result<std::optional<record_view>> find(const record_id& id);
  [[nodiscard]] result<list_page> list(const list_filter& filter, const std::string& cursor,
                                       std::size_t limit);
  [[nodiscard]] result<counts> count(const std::string& cursor);
  [[nodiscard]] result<vitals> read_vitals();

 private:
  struct row;
  using visitor = std::function<bool(const row&)>;
  class allowance;
  result<std::string> walk(statement& rows, const std::vector<observed_state>& states,
                           const std::string& cursor, const visitor& visit);
  bool walk_whole_pages(statement& rows, const std::vector<observed_state>& states,
                        std::int64_t& after, allowance& left, const visitor& visit);
  bool walk_damaged_pages(std::int64_t& after, allowance& left, const visitor& visit);
  bool visit_one(std::int64_t number, const std::string& digest, const visitor& visit);
  /// The cheapest of the queries of rows that have all rows that may fit.
  [[nodiscard]] statement& rows_for(const list_filter& filter);
  void add_noted(const moment& present, list_page& page);
  [[nodiscard]] bool is_noted(std::string_view digest);
  [[nodiscard]] result<std::optional<record_view>> find_at(const record_id& id,
                                                           const moment& present);
  [[nodiscard]] result<std::optional<record_view>> find_row(std::span<const unsigned char> digest,
                                                            const record_id& id,
                                                            const moment& moment);

  session& session_;
  statement find_, all_, unsettled_, digests_, one_, notes_, note_;
  std::string sought_;  // what by_key_ is bound to
  statement by_key_;    // made anew for each list, as the index may come and go
};

}  // namespace onceguard::sqlite
