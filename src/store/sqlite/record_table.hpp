// The records in a file: reading one by its id, and writing it. Within a transaction.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "core/record_codec.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/metadata.hpp"

namespace onceguard::sqlite {

/// A record, and where it stands.
struct stored_row {
  std::int64_t number = 0;
  record stored;
};

/// Says that a page is damaged, or that the disk does not give it: what stands elsewhere can still
/// be read and written, but, so SQLite has it, not within this transaction.
[[nodiscard]] bool is_damage(const failure& failed) noexcept;

/// A record on a damaged page keeps its row and its place in the index. What an operator puts in
/// its place has this id, which is longer by a byte.
using replacement_id = std::array<unsigned char, std::tuple_size_v<record_id> + 1>;
[[nodiscard]] replacement_id replacement_of(const record_id& id) noexcept;

/// Decodes, and ends the lease of a record from before the last boot.
[[nodiscard]] result<record> read_record(std::string_view bytes, std::int64_t boot,
                                         std::int64_t boot_now, const encoded_parts& parts = {});

class record_table {
 public:
  /// `prefix` begins the names of the table and its indexes.
  explicit record_table(connection& database, const std::string& prefix = {});

  [[nodiscard]] result<std::optional<stored_row>> load(const record_id& id, std::int64_t boot_now,
                                                       const encoded_parts& parts);
  /// What stands in the place of a record on a damaged page, which is not read.
  [[nodiscard]] result<std::optional<stored_row>> load_replacement(const record_id& id,
                                                                   std::int64_t boot_now,
                                                                   const encoded_parts& parts);
  void insert(const record_id& id, const record& stored, std::int64_t boot_now,
              const encoded_parts& parts);
  void update(std::int64_t number, const record& stored, std::int64_t boot_now,
              const encoded_parts& parts);
  /// In the place of a record that can't be read; `on_damaged_page`: or whose page can't.
  void replace(const record_id& id, const record& stored, std::int64_t boot_now,
               bool on_damaged_page);
  /// Reads what a call would; a failure says that its page can't be read.
  void probe(const record_id& id);
  /// The same of what a sweep would remove; it is left alone from then on.
  void probe_expired(const moment& moment, std::size_t most);
  [[nodiscard]] std::size_t left_alone() const noexcept { return on_damaged_pages_.size(); }
  /// Removes up to `most` records that have outlived their retention; how many went.
  [[nodiscard]] std::size_t remove_expired(const moment& moment, std::size_t most);

 private:
  [[nodiscard]] result<std::optional<stored_row>> load_row(std::span<const unsigned char> digest,
                                                           std::int64_t boot_now,
                                                           const encoded_parts& parts);
  void insert_row(std::span<const unsigned char> digest, const record& stored,
                  std::int64_t boot_now, const encoded_parts& parts);
  [[nodiscard]] std::size_t remove_settled(const moment& moment, std::size_t most);
  [[nodiscard]] std::size_t remove_unsettled(const moment& moment, std::size_t most);
  [[nodiscard]] std::vector<std::int64_t> list_expired(const moment& moment, std::size_t most);
  [[nodiscard]] bool may_go(std::int64_t number, const moment& moment);

  connection& on_;
  statement load_, insert_, update_, remove_settled_, unsettled_, remove_, expired_, one_;
  bool careful_ = false;                     // a sweep met a damaged page
  std::set<std::int64_t> on_damaged_pages_;  // of what has expired
};

}  // namespace onceguard::sqlite
