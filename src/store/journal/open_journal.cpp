#include "store/journal/open_journal.hpp"

#include <algorithm>
#include <array>

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "store/journal/checkpoint.hpp"
#include "store/journal/recovery.hpp"
#include "store/record_errors.hpp"

namespace onceguard::journal {
namespace {

std::string random_identity() {
  std::array<unsigned char, 16> bytes{};
  base::random_bytes(bytes);
  return std::string(base::as_chars(bytes));
}

std::span<const unsigned char> as_bytes(const std::string& text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

}  // namespace

open_journal::open_journal(const journal_params& params, std::unique_ptr<file_layer> files)
    : clock_(*params.clock), segment_size_(params.segment_size), files_(std::move(files)) {}

result<std::unique_ptr<open_journal>> open_journal::open(const journal_params& params) {
  if (params.clock->boot_id().empty()) {
    return error(errc::invalid_argument,
                 "journal store " + params.path +
                     ": the system does not tell its boot id, so leases could outlive a reboot");
  }
  auto files = params.files(params.path);
  if (!files) return files.error();
  std::unique_ptr<open_journal> opened(new open_journal(params, std::move(*files)));
  if (auto why = opened->begin()) return *why;
  return opened;
}

std::optional<error> open_journal::begin() {
  const auto begun = base::boot_now();
  auto found = recover(*files_, table);
  if (!found) return found.error();
  raw_identity_ = found->identity.empty() ? random_identity() : found->identity;
  identity_ = base::to_hex(as_bytes(raw_identity_));
  log.emplace(*files_, raw_identity_, segment_size_);
  report(*found, begun);
  remove_unfinished();
  opened_ = found->segments.empty();
  log->take_over(std::move(found->segments), found->end, found->tail);
  if (auto there = log->write_again(found->last_group); !there) return there.error();
  state = std::move(found->state);
  guard = wall_guard(state.wall);
  if (log->segments().empty()) {
    // The identity is known to whoever polls from now on: it has to stay.
    if (auto first = make_room(0, room::for_removal); !first) return first.error();
  }
  if (state.boot_id != clock_.boot_id()) enter_boot();
  // Tokens go on from those of a journal that was lost here, or that this is an older copy of.
  state.last_token = std::max(
      state.last_token, static_cast<token>(std::max<std::int64_t>(clock_.wall_ms(), 0)) * 1'000);
  return std::nullopt;
}

void open_journal::report(const recovered& found, base::boot_clock::time_point begun) const {
  if (!found.checkpoint_fault.empty()) {
    base::log(base::event::checkpoint_unusable,
              {{"store", location()}, {"why", found.checkpoint_fault}});
  }
  if (found.segments.empty()) return;
  const auto& last = *found.segments.back();
  if (found.cut_off) {
    base::log(base::event::log_cut_back, {{"store", location()},
                                          {"segment", segment_name(last.number)},
                                          {"at", last.end},
                                          {"why", "its last group was not whole"}});
  }
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(base::boot_now() - begun);
  base::log(base::event::log_read, {{"store", location()},
                                    {"keys", table.size()},
                                    {"segments", found.segments.size()},
                                    {"bytes", found.tail},
                                    {"after_ms", took.count()}});
}

/// What a killed process had begun, with blocks that are needed elsewhere. Nothing counts in it,
/// and what can't be removed is begun anew in its turn.
void open_journal::remove_unfinished() {
  const auto names = files_->list();
  if (!names) return;
  for (const auto& each : *names) {
    const bool unfinished = each == new_segment_name || each == new_checkpoint_name;
    if (unfinished) static_cast<void>(files_->remove(each));
  }
}

void open_journal::enter_boot() {
  state.boot_id = clock_.boot_id();
  ++state.boot;
  guard = wall_guard::after_boot(state.last_wall, clock_.boot_ms(), clock_.wall_ms());
}

result<void> open_journal::mend() {
  if (!log->failed()) return {};
  if (auto mended = log->mend(); !mended) return mended;
  // The first one after the start is no sign of a failure.
  if (std::exchange(opened_, true)) {
    const auto& last = *log->segments().back();
    base::log(base::event::log_cut_back, {{"store", location()},
                                          {"segment", segment_name(last.number)},
                                          {"at", last.end},
                                          {"why", "a write or a flush failed"}});
  }
  return {};
}

result<void> open_journal::make_room(std::uint64_t size, room use) {
  if (auto mended = mend(); !mended) return mended;
  if (use == room::for_claims) {
    size += log->margin();
    if (auto reserved = log->keep_reserve(); !reserved) return reserved;
  }
  while (!log->has_room(size)) {
    if (auto begun = begin_segment(size, use); !begun) return begun;
  }
  return {};
}

result<void> open_journal::begin_segment(std::uint64_t size, room use) {
  // The next segment says where this one ends: not behind a group that failed.
  if (auto cut_back = mend(); !cut_back) return cut_back;
  auto made = log->make_segment(size, use);
  if (!made) return made.error();
  {
    const std::lock_guard locked(lock);
    log->accept_segment(std::move(*made));
  }
  return log->flush_name();
}

result<void> open_journal::check_file(const segment& opened) {
  if (!lost_) {
    const auto there = log->still_there(opened);
    if (!there) return there.error();
    if (*there) return {};
    {
      const std::lock_guard locked(lock);
      if (opened.number < state.first_segment) return {};  // the sweep has removed it
    }
    if (!lost_.exchange(true)) {
      base::log(base::event::store_file_replaced, {{"store", location()}});
    }
  }
  return error(errc::store_lost,
               "journal store " + location() +
                   ": its files were removed or replaced while this process had them open. It "
                   "takes no more calls until it is started again");
}

moment open_journal::poll_clocks() const {
  auto copy = guard;
  const auto now = onceguard::read_clocks(clock_, copy);
  return {now, state.boot, wall_ahead(clock_, now)};
}

moment open_journal::read_clocks() {
  if (state.boot_id != clock_.boot_id()) enter_boot();
  const bool was_unconfirmed = guard.memory().unconfirmed;
  const auto now = onceguard::read_clocks(clock_, guard);
  if (guard.memory().unconfirmed != was_unconfirmed) {
    base::log(was_unconfirmed ? base::event::clock_confirmed : base::event::clock_stepped,
              {{"store", location()}});
  }
  return {now, state.boot, wall_ahead(clock_, now)};
}

result<record_in_boot> read_record(const located_frame& located, const record_id& id,
                                   const moment& present) {
  if (!located.container) return unreadable("its segment is gone");
  const auto frame = read_frame(*located.container, located.location, id);
  if (!frame) return frame.error();
  auto read = decode_record(frame->body);
  if (!read) return read.error();
  if (!read->about) return subject_unreadable();
  return seen_in_boot(*std::move(read), frame->header.boot == present.boot, present.now);
}

}  // namespace onceguard::journal
