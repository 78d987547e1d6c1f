// The table of records: reads a record by its id, and writes it, within a transaction.
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
#include "store/earlier_boot.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/metadata.hpp"

namespace onceguard::sqlite {

/// A record and the number of its row.
struct stored_row {
  std::int64_t number = 0;
  record_in_boot seen;
};

/// True: a page is damaged, or the disk does not deliver the page. Other pages can still be read
/// and written, but SQLite does not allow that within the same transaction.
[[nodiscard]] bool is_damage(const failure& failed) noexcept;

/// A record on a damaged page keeps its row and its index entry. The record that an operator stores
/// instead has this id, which is one byte longer.
using replacement_id = std::array<unsigned char, std::tuple_size_v<record_id> + 1>;
[[nodiscard]] replacement_id replacement_of(const record_id& id) noexcept;
/// The id in a column `digest`, also where it is that of a replacement.
[[nodiscard]] record_id id_from(std::string_view digest) noexcept;

/// Decodes a record, and ends its lease if the record is from before the last boot.
[[nodiscard]] result<record_in_boot> read_record(std::string_view bytes, std::int64_t boot,
                                                 const moment& present,
                                                 const encoded_parts& parts = {});

class record_table {
 public:
  /// `prefix` begins the names of the table and its indexes.
  explicit record_table(connection& database, const std::string& prefix = {});

  [[nodiscard]] result<std::optional<stored_row>> load(const record_id& id, const moment& present,
                                                       const encoded_parts& parts);
  /// Loads the replacement of a record on a damaged page. The damaged record itself is not read.
  [[nodiscard]] result<std::optional<stored_row>> load_replacement(const record_id& id,
                                                                   const moment& present,
                                                                   const encoded_parts& parts);
  void insert(const record_id& id, const record& stored, std::int64_t boot_now,
              const encoded_parts& parts);
  void update(std::int64_t number, const record& stored, std::int64_t boot_now,
              const encoded_parts& parts);
  /// Replaces a record that can't be decoded or, with `on_damaged_page`, whose page can't be read.
  void replace(const record_id& id, const record& stored, std::int64_t boot_now,
               bool on_damaged_page);
  /// Notes that the record can't be read, for lists of what needs a person.
  void note_unreadable(const record_id& id);
  /// Forgets notes of records that are gone.
  void drop_notes() { drop_notes_.run(); }
  /// Reads what a call for this record would read. A failure says that the page can't be read.
  void probe(const record_id& id);
  /// The same for the records that a sweep would remove. Later sweeps skip those on damaged pages.
  void probe_expired(const moment& moment, std::size_t most);
  [[nodiscard]] std::size_t left_alone() const noexcept { return on_damaged_pages_.size(); }
  /// Removes up to `most` records whose retention has ended; returns how many were removed.
  [[nodiscard]] std::size_t remove_expired(const moment& moment, std::size_t most);

 private:
  [[nodiscard]] result<std::optional<stored_row>> load_row(std::span<const unsigned char> digest,
                                                           const moment& present,
                                                           const encoded_parts& parts);
  void insert_row(std::span<const unsigned char> digest, const record& stored,
                  std::int64_t boot_now, const encoded_parts& parts);
  [[nodiscard]] std::size_t remove_settled(const moment& moment, std::size_t most);
  [[nodiscard]] std::size_t remove_unsettled(const moment& moment, std::size_t most);
  [[nodiscard]] std::vector<std::int64_t> list_expired(const moment& moment, std::size_t most);
  [[nodiscard]] bool may_go(std::int64_t number, const moment& moment);

  connection& connection_;
  statement load_, insert_, update_, remove_settled_, unsettled_, remove_, expired_, one_;
  statement note_unreadable_, forget_unreadable_, drop_notes_;
  bool careful_ = false;                     // a sweep met a damaged page
  std::set<std::int64_t> on_damaged_pages_;  // expired records on damaged pages
};

}  // namespace onceguard::sqlite
