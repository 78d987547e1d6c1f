#include "store/postgres/queries/store_queries.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/hex.hpp"
#include "base/log.hpp"
#include "store/indexed_key.hpp"
#include "store/record_view.hpp"

namespace onceguard::postgres {
namespace {

// The seals of what does not fit are checked, too: some 4 us a record.
constexpr std::int64_t pages_in_piece = 1'000;
constexpr std::int64_t notes_examined = 2'000;

error foreign_cursor() {
  return error(errc::invalid_argument, "this cursor was not given by this store");
}

// Between the two cursors of a list that its index left.
constexpr char left_mark = '+';

/// One row more than the limit says that there are more.
std::int64_t rows_asked(std::size_t limit) {
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max() - 1;
  return static_cast<std::int64_t>(std::min(limit, most)) + 1;
}

std::string text_of(const table_position& position) {
  return std::to_string(position.page) + '.' + std::to_string(position.first) + '.' +
         base::to_hex(position.id);
}

bool read_cursor_number(std::string_view& text, std::int64_t& out) {
  const auto* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  if (read.ec != std::errc() || read.ptr == end || *read.ptr != '.' || out < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()) + 1);
  return true;
}

/// The cursor behind a whole piece; empty: that was the last one.
std::string behind_piece(const table_position& piece, std::int64_t pages) {
  table_position next;
  next.page = piece.page + pages_in_piece;
  return next.page < pages ? text_of(next) : std::string();
}

void add_piece(parameters& out, const table_position& piece) {
  out.int8(piece.page).int8(piece.page + pages_in_piece);
}

void add_filter(parameters& out, const list_filter& filter) {
  std::string states;
  for (const auto state : states_of(filter)) {
    states += (states.empty() ? "" : ",") + std::string(name_of(state));
  }
  if (states.empty()) {
    out.null();
  } else {
    out.bytes(states);
  }
  array_value texts(type::bytes);
  for (const auto text : texts_of(filter)) texts.bytes(text);
  out.array(texts);
  if (filter.scope) {
    out.bytes(*filter.scope);
  } else {
    out.null();
  }
  for (const auto& age : {filter.older, filter.younger}) {
    if (age) {
      out.int8(age->count());
    } else {
      out.null();
    }
  }
}

void take_row(const rows& rows, int row, const list_filter& filter, bool expiry_paused,
              const std::string& name, list_page& out) {
  auto seen = read_row(rows, row);
  const auto id = id_in(rows, row);
  if (seen.unreadable) {
    base::log(
        base::event::stored_record_unreadable,
        {{"store", name}, {"record", base::digest_text(id)}, {"why", seen.unreadable->detail}});
    out.unreadable.push_back({id, seen.unreadable->detail});
    return;
  }
  const auto now = instant_of(seen.now, expiry_paused);
  if (expired(seen.found->record, now)) return;
  auto view = make_view(id, std::move(seen.found->record), now);
  view.recovery = std::move(seen.found->recovery);
  if (matches(filter, view)) out.records.push_back(std::move(view));
}

void sort_by_claim(list_page& page) {
  std::stable_sort(page.records.begin(), page.records.end(), [](const auto& a, const auto& b) {
    return a.stored.claimed_at_wall < b.stored.claimed_at_wall;
  });
}

}  // namespace

result<table_position> read_cursor(const std::string& cursor) {
  table_position out;
  std::string_view rest = cursor;
  const bool right =
      cursor.empty() || (read_cursor_number(rest, out.page) &&
                         read_cursor_number(rest, out.first) && base::from_hex(rest, out.id));
  if (!right) return foreign_cursor();
  return out;
}

parameters ask_list(const list_filter& filter, const table_position& after, std::size_t limit,
                    bool expiry_paused) {
  parameters out;
  add_piece(out, after);
  out.int8(after.first).bytes(after.id);
  out.int4(rows_asked(limit)).boolean(expiry_paused);
  add_filter(out, filter);
  return out;
}

list_page read_list(const rows& rows, const list_filter& filter, const table_position& after,
                    std::size_t limit, bool expiry_paused, const std::string& name) {
  rows.expect_columns(row_columns + 1);
  if (rows.size() == 0) throw unexpected_answer("a list without the size of the table");
  list_page out;
  // One row more than the limit says that the piece goes on.
  const bool more = static_cast<std::size_t>(rows.size()) > limit;
  const int count = more ? static_cast<int>(limit) : rows.size();
  auto last = after;
  for (int row = 0; row < count; ++row) {
    if (rows.null(row, 0)) break;  // nothing was found in the piece
    last.first = first_in(rows, row);
    last.id = id_in(rows, row);
    take_row(rows, row, filter, expiry_paused, name, out);
  }
  out.cursor = more ? text_of(last) : behind_piece(after, rows.integer(0, row_columns));
  return out;
}

result<record_id> read_id_cursor(const std::string& cursor) {
  record_id out{};
  if (!cursor.empty() && !base::from_hex(cursor, out)) return foreign_cursor();
  return out;
}

parameters ask_attention(const record_id& after, std::size_t limit, bool expiry_paused) {
  parameters out;
  out.bytes(after).int4(notes_examined).int4(rows_asked(limit)).boolean(expiry_paused);
  return out;
}

list_page read_attention(const rows& rows, const list_filter& filter, std::size_t limit,
                         bool expiry_paused, const std::string& name) {
  rows.expect_columns(row_columns + 1);
  if (rows.size() == 0) throw unexpected_answer("a list without its last note");
  list_page out;
  const bool more = static_cast<std::size_t>(rows.size()) > limit;
  const int count = more ? static_cast<int>(limit) : rows.size();
  for (int row = 0; row < count; ++row) {
    if (!rows.null(row, 0)) take_row(rows, row, filter, expiry_paused, name, out);
  }
  if (more) {
    out.cursor = base::to_hex(id_in(rows, count - 1));
  } else if (!rows.null(0, row_columns)) {
    out.cursor = base::to_hex(rows.fixed<record_id>(0, row_columns));
  }
  sort_by_claim(out);
  return out;
}

bool is_key_cursor(const std::string& cursor) noexcept {
  return !cursor.empty() && cursor.find_first_of({'.', left_mark}) == std::string::npos;
}

left_list split_cursor(const std::string& cursor) {
  if (is_key_cursor(cursor)) return {cursor, ""};
  const auto mark = cursor.find(left_mark);
  if (mark == std::string::npos) return {"", cursor};
  return {cursor.substr(0, mark), cursor.substr(mark + 1)};
}

result<list_page> go_on_behind(const left_list& left, list_page page) {
  if (left.after.empty()) return page;
  const auto last = read_id_cursor(left.after);
  if (!last) return last.error();
  const auto was_listed = [&last](const auto& one) { return one.id <= *last; };
  std::erase_if(page.records, was_listed);
  std::erase_if(page.unreadable, was_listed);
  if (!page.cursor.empty()) page.cursor.insert(0, left.after + left_mark);
  return page;
}

parameters ask_key(const std::string& key, const record_id& after, std::size_t limit) {
  parameters out;
  out.bytes(indexed_key(key)).bytes(after).int4(rows_asked(limit));
  return out;
}

list_page read_key(const rows& rows, const list_filter& filter, std::size_t limit,
                   bool expiry_paused, const std::string& name) {
  rows.expect_columns(row_columns);
  list_page out;
  const bool more = static_cast<std::size_t>(rows.size()) > limit;
  const int count = more ? static_cast<int>(limit) : rows.size();
  for (int row = 0; row < count; ++row) take_row(rows, row, filter, expiry_paused, name, out);
  if (more) out.cursor = base::to_hex(id_in(rows, count - 1));
  sort_by_claim(out);
  return out;
}

parameters ask_count(const table_position& after, bool expiry_paused) {
  parameters out;
  add_piece(out, after);
  out.boolean(expiry_paused);
  return out;
}

counts read_counts(const rows& rows, const table_position& after) {
  rows.expect_columns(3);
  if (rows.size() == 0) throw unexpected_answer("a count without the size of the table");
  counts out;
  for (int row = 0; row < rows.size(); ++row) {
    const auto number = static_cast<std::uint64_t>(rows.integer(row, 1));
    if (rows.null(row, 0)) continue;
    const auto name = rows.bytes(row, 0);
    if (name == "unreadable") out.unreadable = number;
    for (std::size_t state = 1; state < out.by_state.size(); ++state) {
      if (name == name_of(static_cast<observed_state>(state))) out.by_state[state] = number;
    }
  }
  out.cursor = behind_piece(after, rows.integer(0, 2));
  return out;
}

poll_reply read_vitals(const rows& rows) {
  rows.expect_columns(5);
  if (rows.size() != 1) throw unexpected_answer("the schema does not say what it is");
  poll_reply out;
  out.vitals.identity = rows.bytes(0, 0);
  out.vitals.generation = static_cast<std::uint64_t>(rows.integer(0, 1));
  out.vitals.forgotten = static_cast<std::uint64_t>(rows.integer(0, 2));
  out.floor = rows.integer(0, 3);
  out.now = rows.integer(0, 4);
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

bool read_boolean(const rows& rows) {
  rows.expect_columns(1);
  if (rows.size() != 1) throw unexpected_answer("a question without its answer");
  return rows.boolean(0, 0);
}

}  // namespace onceguard::postgres
