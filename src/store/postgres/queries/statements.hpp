// The statements that a connection sends. Each is prepared once in a session of this process;
// behind a pooler its text is sent each time.
#pragma once
#include <span>

namespace onceguard::postgres {

struct statement {
  const char* name;
  const char* text;
};

// Batches: an array for each column.
extern const statement claim_batch;     ///< inserts records, and reads those that exist
extern const statement check_memory;    ///< raises an error if it is not what the process knows
extern const statement complete_batch;  ///< completes records by their leases
extern const statement read_batch;      ///< reads records, without long outcomes
// Single records.
extern const statement read_whole;
extern const statement insert_row;
extern const statement replace_row;  ///< replaces the version of a row that was read
// Questions.
extern const statement list_piece;
extern const statement list_attention;  ///< of the records that are noted
extern const statement find_key_index;  ///< whether there is an index by key
extern const statement list_key;        ///< of the records that the index has for a key
extern const statement note_attention;
extern const statement count_piece;
extern const statement sweep_some;
extern const statement poll_vitals;
extern const statement poll_epoch;
extern const statement note_state;
extern const statement await_settles;  ///< wants to be notified of settles
extern const statement notify_settled;

/// Makes the index by key, beside other transactions.
extern const char* const make_key_index;

/// All of the above.
[[nodiscard]] std::span<const statement* const> all_statements() noexcept;

}  // namespace onceguard::postgres
