#include "admin/outcome_history.hpp"

#include <algorithm>
#include <cstring>

namespace onceguard::admin {

namespace {

using http::request_outcome;

/// The words of an entry, in their order.
struct entry_word {
  enum : std::size_t { record_begin, record_end, number, at, total, attempt, facts };
};

/// The beginning of an id tells records apart: it is a digest.
std::array<std::uint64_t, 2> begin_of(const record_id& record) noexcept {
  std::array<std::uint64_t, 2> out{};
  std::memcpy(out.data(), record.data(), sizeof(out));
  return out;
}

bool says_more(const http::request_report& report) noexcept {
  if (report.record == nullptr) return false;
  // They have no record in the store.
  if (report.outcome == request_outcome::unguarded || report.outcome == request_outcome::observed)
    return false;
  return report.outcome != request_outcome::ran || report.attempt > 1 || report.superseded ||
         report.settled != settle_kind::complete;
}

std::uint64_t facts_of(const http::request_report& report) noexcept {
  const auto settled =
      report.settled ? static_cast<std::uint64_t>(*report.settled) + 1 : std::uint64_t{0};
  return static_cast<std::uint64_t>(report.outcome) |
         static_cast<std::uint64_t>(report.unknown_why) << 8U | settled << 16U |
         static_cast<std::uint64_t>(report.superseded) << 24U |
         static_cast<std::uint64_t>(report.status & 0xffffU) << 32U |
         static_cast<std::uint64_t>(report.upstream_status & 0xffffU) << 48U;
}

http::request_report report_of(std::uint64_t facts) noexcept {
  http::request_report out;
  out.outcome = static_cast<request_outcome>(facts & 0xffU);
  out.unknown_why = static_cast<unknown_reason>(facts >> 8U & 0xffU);
  if (const auto settled = facts >> 16U & 0xffU; settled != 0) {
    out.settled = static_cast<settle_kind>(settled - 1);
  }
  out.superseded = (facts >> 24U & 1U) != 0;
  out.status = static_cast<unsigned>(facts >> 32U & 0xffffU);
  out.upstream_status = static_cast<unsigned>(facts >> 48U);
  return out;
}

}  // namespace

void outcome_history::add(std::uint64_t request_number, std::int64_t at_wall,
                          const http::request_report& report) noexcept {
  if (!says_more(report)) return;
  const auto turn = taken_.fetch_add(1, std::memory_order_acq_rel) + 1;
  auto& out = slots_[turn % entries_max];
  auto before = out.mark.load(std::memory_order_relaxed);
  // Another one writes there, or a thread that was held up for a whole round would replace a newer.
  if (before % 2 != 0 || before > 2 * turn) return;
  if (!out.mark.compare_exchange_strong(before, 2 * turn + 1, std::memory_order_acq_rel)) return;
  const auto [begin, end] = begin_of(*report.record);
  const entry words{begin,
                    end,
                    request_number,
                    static_cast<std::uint64_t>(at_wall),
                    static_cast<std::uint64_t>(report.total.count()),
                    report.attempt,
                    facts_of(report)};
  // Each says to who reads it that the mark is odd; these orders cost nothing on x86.
  for (std::size_t i = 0; i < words.size(); ++i) {
    out.words[i].store(words[i], std::memory_order_release);
  }
  out.mark.store(2 * turn, std::memory_order_release);
}

bool outcome_history::read(const slot& source, entry& out) noexcept {
  const auto before = source.mark.load(std::memory_order_acquire);
  if (before == 0 || before % 2 != 0) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = source.words[i].load(std::memory_order_acquire);
  }
  return source.mark.load(std::memory_order_relaxed) == before;
}

std::vector<past_request> outcome_history::of(const record_id& record, std::size_t most) const {
  std::vector<past_request> out;
  if (slots_ == nullptr) return out;
  const auto [begin, end] = begin_of(record);
  const auto last = taken_.load(std::memory_order_acquire);
  const auto first = last - std::min<std::uint64_t>(last, entries_max);
  for (auto turn = last; turn > first && out.size() < most; --turn) {
    const auto& source = slots_[turn % entries_max];
    // Most are another record's, which the first word says.
    if (source.words[entry_word::record_begin].load(std::memory_order_relaxed) != begin) continue;
    entry found;
    if (!read(source, found) || found[entry_word::record_begin] != begin ||
        found[entry_word::record_end] != end)
      continue;
    past_request one{found[entry_word::number], static_cast<std::int64_t>(found[entry_word::at]),
                     report_of(found[entry_word::facts])};
    one.report.total = std::chrono::microseconds(found[entry_word::total]);
    one.report.attempt = found[entry_word::attempt];
    out.push_back(one);
  }
  std::ranges::sort(out, {}, &past_request::number);
  return out;
}

std::int64_t outcome_history::known_since_wall() const noexcept {
  const auto last = taken_.load(std::memory_order_acquire);
  if (last <= entries_max) return 0;
  entry oldest;
  for (auto turn = last - entries_max + 1; turn <= last; ++turn) {
    if (read(slots_[turn % entries_max], oldest))
      return static_cast<std::int64_t>(oldest[entry_word::at]);
  }
  return 0;
}

}  // namespace onceguard::admin
