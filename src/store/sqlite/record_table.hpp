// The records in a file: reading one by its id, and writing it. Within a transaction.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "core/record_codec.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/ledger.hpp"

namespace onceguard::sqlite {

/// A record, and where it stands.
struct stored_row {
  std::int64_t number = 0;
  record stored;
};

/// Decodes, and ends the lease of a record from before the last boot.
[[nodiscard]] result<record> read_record(std::string_view bytes, std::int64_t boot,
                                         std::int64_t boot_now, const encoded_parts& parts = {});

class record_table {
 public:
  /// `prefix` begins the names of the table and its indexes.
  explicit record_table(connection& on, const std::string& prefix = {});

  [[nodiscard]] result<std::optional<stored_row>> load(const record_id& id, std::int64_t boot_now,
                                                       const encoded_parts& parts);
  void insert(const record_id& id, const record& stored, std::int64_t boot_now,
              const encoded_parts& parts);
  void update(std::int64_t number, const record& stored, std::int64_t boot_now,
              const encoded_parts& parts);
  /// Removes up to `most` records that have outlived their retention; how many went.
  [[nodiscard]] std::size_t remove_expired(const moment& at, std::size_t most);

 private:
  [[nodiscard]] std::size_t remove_expired_unsettled(const moment& at, std::size_t most);

  connection& on_;
  statement load_, insert_, update_, remove_settled_, unsettled_, remove_;
};

}  // namespace onceguard::sqlite
