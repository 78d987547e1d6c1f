// The work of one durable commit: each item is decided on the record as it stands, and what is to
// be written waits here until it is on the disk.
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>

#include "core/record_codec.hpp"
#include "core/record_id_hash.hpp"
#include "store/journal/open_journal.hpp"
#include "store/journal/record_cache.hpp"

namespace onceguard::journal {

/// Encodes, before the item's turn, what can be encoded of the record that the item will write.
[[nodiscard]] inline encoded_parts parts_of(const claim& request) {
  return encoded_parts(request.about);
}
[[nodiscard]] inline encoded_parts parts_of(const settlement& request) {
  return encoded_parts(request.about, request.answer);
}
template <class Item>
[[nodiscard]] encoded_parts parts_of(const Item&) {
  return {};
}

/// A frame that is written anew at the end of the log.
struct frame_move {
  record_id id{};
  frame_header header;
  std::string body;
};

/// Used by the writer's thread alone, which is the only one that changes the journal: it reads the
/// table without the lock.
class group {
 public:
  group(open_journal& opened, record_cache& cache, const moment& present);

  result<verdict> apply(const claim& requested, const encoded_parts& parts = {});
  result<settled> apply(const settlement& request, const encoded_parts& parts = {});
  result<bool> apply(const extension& request, const encoded_parts& parts = {});
  result<resolve_decision> apply(const resolution& request, const encoded_parts& parts = {});
  result<import_outcome> apply(const imported_record& request, const encoded_parts& parts = {});

  /// Moves a record as it is. It must not be changed in this group.
  void apply(frame_move moved);

  /// Says that the segments before this one may be gone.
  void begin_log_with(std::uint32_t segment) {
    ++writes_;
    next_.first_segment = segment;
  }

  /// How many records were written by the calls above, so far.
  [[nodiscard]] std::uint64_t writes() const noexcept { return writes_; }
  /// The bytes of these records, and of those that they replace in this group.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  /// Writes everything, with a commit, and flushes. `effect::none`: nothing was changed; else
  /// nothing is known, and the log has to be mended.
  [[nodiscard]] result<void> commit(room use);
  /// After `commit`: from now on others see it.
  void publish();

 private:
  struct change {
    frame_header header;
    std::optional<record> stored;  ///< of a record that was moved: none
    std::string body;
    frame_location location;
  };

  /// Null: there is no record.
  [[nodiscard]] result<const record*> load(const record_id& id);
  /// Of the record that `load` returned. None: its deadline, as it was changed in this group.
  [[nodiscard]] std::optional<std::int64_t> revision_of(const record* found) const noexcept {
    return found == &loaded_.stored ? std::optional(loaded_.revision) : std::nullopt;
  }
  void write(const record_id& id, record stored, const encoded_parts& parts);
  void add_frames();

  open_journal& journal_;
  record_cache& cache_;
  const moment present_;
  journal_state next_;
  std::vector<change> changes_;
  std::unordered_map<record_id, std::size_t, record_id_hash> changed_;
  record_in_boot loaded_;  // what `load` returned last, unless it was changed in this group
  std::uint64_t writes_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace onceguard::journal
