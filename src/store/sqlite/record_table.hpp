// The records in a file: reading one by its id, and writing it. Within a transaction.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
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

/// Says that a page of the file is damaged: what stands elsewhere can still be read and written.
[[nodiscard]] bool is_damage(const failure& failed) noexcept;

/// A record on a damaged page keeps its row and its place in the index. What an operator puts in its
/// place has this id, which is longer by a byte.
using replacement_id = std::array<unsigned char, std::tuple_size_v<record_id> + 1>;
[[nodiscard]] replacement_id replacement_of(const record_id& id) noexcept;

/// Decodes, and ends the lease of a record from before the last boot.
[[nodiscard]] result<record> read_record(std::string_view bytes, std::int64_t boot,
                                         std::int64_t boot_now, const encoded_parts& parts = {});

class record_table {
 public:
  /// `prefix` begins the names of the table and its indexes.
  explicit record_table(connection& on, const std::string& prefix = {});

  /// A page that can't be read is thrown, unless `replace` has put another row in its place.
  [[nodiscard]] result<std::optional<stored_row>> load(const record_id& id, std::int64_t boot_now,
                                                       const encoded_parts& parts);
  void insert(const record_id& id, const record& stored, std::int64_t boot_now,
              const encoded_parts& parts);
  void update(std::int64_t number, const record& stored, std::int64_t boot_now,
              const encoded_parts& parts);
  /// In the place of a record that can't be read.
  void replace(const record_id& id, const record& stored, std::int64_t boot_now);
  /// Removes up to `most` records that have outlived their retention; how many went.
  [[nodiscard]] std::size_t remove_expired(const moment& at, std::size_t most);

  [[nodiscard]] connection& on() noexcept { return on_; }

 private:
  [[nodiscard]] result<std::optional<stored_row>> load_row(std::span<const unsigned char> digest,
                                                           std::int64_t boot_now,
                                                           const encoded_parts& parts);
  void insert_row(std::span<const unsigned char> digest, const record& stored,
                  std::int64_t boot_now, const encoded_parts& parts);
  [[nodiscard]] std::size_t remove_settled(const moment& at, std::size_t most);
  [[nodiscard]] std::size_t remove_unsettled(const moment& at, std::size_t most);
  [[nodiscard]] std::size_t remove_one_by_one(const moment& at, std::size_t most);
  [[nodiscard]] bool may_go(std::int64_t number, const moment& at);

  connection& on_;
  statement load_, insert_, update_, remove_settled_, unsettled_, remove_, expired_, one_;
  std::set<std::int64_t> on_damaged_pages_;  // found by the sweep
};

}  // namespace onceguard::sqlite
