#include "store/dynamodb/acts.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "store/dynamodb/scan/table_scan.hpp"
#include "store/view.hpp"

namespace onceguard::dynamodb {
namespace {

// Some 3,000 years: sums of it stay far from overflow.
constexpr milliseconds length_max{100'000'000'000'000};

template <class... Length>
void bound(Length&... lengths) {
  ((lengths = std::clamp(lengths, milliseconds(0), length_max)), ...);
}

/// Of the lease that the item names; 0: of none.
token token_in(const item& found) {
  token out = 0;
  const auto text = found.lease.value_or(std::string());
  if (std::from_chars(text.data(), text.data() + text.size(), out).ec != std::errc()) return 0;
  return out;
}

/// What expires stays so much longer, as another process's clock may be ahead. 0: it never does.
void lengthen(milliseconds& retention, milliseconds margin) {
  if (retention.count() != 0) retention += margin;
}

}  // namespace

// --- claims ---------------------------------------------------------------------------------

std::optional<request> claim_act::begin() {
  if (!item_.about) return end(subject_missing());
  bound(item_.lease, item_.probe_after, item_.unknown_retention, item_.retention);
  lengthen(item_.unknown_retention, context_.retention_margin);
  reading nothing;  // a first claim is not preceded by a look
  nothing.now = context_.time.now();
  return decide_on(nothing);
}

std::optional<request> claim_act::decide_on(const reading& seen) {
  auto decided = decide(seen.former(), item_, seen.now, seen.next_token());
  if (!decided.write) return end(std::move(decided.verdict));
  verdict_ = std::move(decided.verdict);
  return replace(seen, std::move(*decided.write));
}

std::optional<request> claim_act::written() {
  hold();
  return end(std::move(verdict_));
}

// --- settles --------------------------------------------------------------------------------

std::optional<request> settle_act::begin() {
  bound(item_.retention, item_.backoff, item_.backoff_max, item_.probe_pause);
  item_.retention += context_.retention_margin;
  return decide_on_held(item_.token, item_.claim_id);
}

std::optional<request> settle_act::decide_on(const reading& seen) {
  auto decided = decide_settle(seen.former(), item_, seen.now);
  if (!decided.write) return end(std::move(decided.result));
  if (!decided.write->about) return end(subject_missing());
  settled_ = std::move(decided.result);
  return replace(seen, std::move(*decided.write));
}

// --- extensions -----------------------------------------------------------------------------

std::optional<request> extend_act::begin() {
  bound(item_.lease);
  return decide_on_held(item_.token, item_.claim_id);
}

std::optional<request> extend_act::decide_on(const reading& seen) {
  auto decided = decide_extension(seen.former(), item_, seen.now);
  if (decided.stale) return end(false);
  return replace(seen, std::move(*decided.write));
}

std::optional<request> extend_act::written() {
  hold();
  return end(true);
}

// --- operators ------------------------------------------------------------------------------

std::optional<request> resolve_act::begin() {
  bound(item_.retention);
  item_.retention += context_.retention_margin;
  return read_again();
}

std::optional<request> resolve_act::decide_on(const reading& seen) {
  return carry_out(seen, decide_resolution(seen.former(), item_, seen.now));
}

std::optional<request> resolve_act::meet_unreadable(const reading& seen) {
  if (!item_.force) return fail(*seen.unreadable);
  // Of what can't be read, the lease may be left.
  const auto next = std::max(clocks::next_token(seen.now, nullptr), token_in(*seen.found)) + 1;
  return carry_out(seen, resolve_unreadable(item_, seen.now, next));
}

std::optional<request> resolve_act::carry_out(const reading& seen, resolve_decision decided) {
  if (!decided.write) return end(std::move(decided));
  auto stored = *decided.write;
  const bool counts = decided.forgets_answer;
  decided_ = std::move(decided);
  return replace(seen, std::move(stored), counts);
}

std::optional<request> import_act::begin() {
  if (!item_.stored.about) return end(subject_missing());
  lengthen(item_.retention_left, context_.retention_margin);
  return read_again();
}

std::optional<request> import_act::decide_on(const reading& seen) {
  auto decided = decide_import(seen.former(), item_, seen.now);
  if (!decided.write) return end(decided.outcome);
  // Later tokens are the clock, or follow the record's token while there is a record.
  const auto left = item_.retention_left.count() == 0
                        ? released_retention
                        : std::min(item_.retention_left, released_retention);
  const auto clock = clocks::next_token(seen.now, nullptr);
  if (item_.stored.token > clock + static_cast<token>(left.count()) * 1'000) {
    return fail(error(errc::invalid_argument,
                      "its token is far ahead of this machine's clock: the clock of the store that "
                      "it comes from was ahead, or this one's is late"));
  }
  return replace(seen, std::move(*decided.write));
}

std::optional<request> find_act::decide_on(const reading& seen) {
  std::optional<record_view> out;
  if (seen.former() != nullptr) out = view_of(id_, *seen.stored, seen.now, context_);
  return end(std::move(out));
}

}  // namespace onceguard::dynamodb
