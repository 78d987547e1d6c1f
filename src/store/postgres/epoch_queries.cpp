#include "store/postgres/epoch_queries.hpp"

namespace onceguard::postgres {

parameters ask_epoch(const std::string& accelerator) {
  parameters out;
  out.bytes(accelerator);
  return out;
}

epoch_reading read_epoch(const rows& rows, const std::string& accelerator) {
  rows.expect_columns(7);
  if (rows.size() != 1) throw unexpected_answer("the schema does not say which epoch it is");
  epoch_reading out;
  out.epoch = rows.bytes(0, 0);
  out.origin = rows.bytes(0, 1);
  out.forgotten = static_cast<std::uint64_t>(rows.integer(0, 2));
  out.generation = static_cast<std::uint64_t>(rows.integer(0, 3));
  out.now = rows.integer(0, 4);
  if (rows.null(0, 5)) return out;
  out.noted.emplace();
  out.noted->identity = accelerator;
  out.noted->generation = static_cast<std::uint64_t>(rows.integer(0, 5));
  out.noted->clock_ahead = rows.integer(0, 6);
  return out;
}

parameters ask_note(const accelerator_state& found, const std::string& distrusted) {
  parameters out;
  out.bytes(found.identity).int8(static_cast<std::int64_t>(found.generation));
  out.int8(found.clock_ahead);
  if (distrusted.empty()) {
    out.null();
  } else {
    out.bytes(distrusted);
  }
  return out;
}

bool read_note(const rows& rows) {
  rows.expect_columns(1);
  if (rows.size() != 1) throw unexpected_answer("a note without its answer");
  return rows.boolean(0, 0);
}

}  // namespace onceguard::postgres
