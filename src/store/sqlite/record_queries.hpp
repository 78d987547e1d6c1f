// The queries of operators and polls on a store's file. Each query is one read transaction.
#pragma once
#include <functional>
#include <span>

#include <onceguard/store.hpp>

#include "store/sqlite/session.hpp"

namespace onceguard::sqlite {

/// A damaged page hides only the records on it, and their ids are listed as unreadable. Failures of
/// SQLite are thrown.
class record_queries {
 public:
  /// The rows that one page of results examines at most, however few of them match.
  static constexpr std::size_t examined_max = 20'000;

  explicit record_queries(session& session);

  [[nodiscard]] result<std::optional<record_view>> find(const record_id& id);
  [[nodiscard]] result<list_page> list(const list_filter& filter, const std::string& cursor,
                                       std::size_t limit);
  [[nodiscard]] result<counts> count(const std::string& cursor);
  [[nodiscard]] result<vitals> read_vitals();

 private:
  struct row;
  using visitor = std::function<bool(const row&)>;
  statement& rows_for(const std::optional<observed_state>& state);
  result<std::string> walk(const std::optional<observed_state>& state, const std::string& cursor,
                           const visitor& visit);
  bool walk_whole_pages(statement& rows, std::int64_t& after, std::size_t& examined,
                        const visitor& visit);
  bool walk_damaged_pages(std::int64_t& after, std::size_t& examined, const visitor& visit);
  bool visit_one(std::int64_t number, const std::string& digest, const visitor& visit);
  [[nodiscard]] result<std::optional<record_view>> find_row(std::span<const unsigned char> digest,
                                                            const record_id& id,
                                                            const moment& moment);

  session& session_;
  statement find_, all_, settled_, unsettled_, digests_, one_;
};

}  // namespace onceguard::sqlite
