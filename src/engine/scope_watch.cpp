#include "engine/scope_watch.hpp"

#include <array>
#include <chrono>
#include <cstring>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"

namespace onceguard {
namespace {

constexpr std::size_t remembered = 1u << 16;
constexpr std::chrono::seconds tick{32};  // 16 bits of them are 24 days
constexpr std::uint16_t window = 2'700;   // ticks: a day
constexpr unsigned time_bits = 16;
constexpr std::size_t scope_bytes = 6;  // 12 hex digits

std::uint16_t ticks_now() noexcept {
  return static_cast<std::uint16_t>(base::boot_now().time_since_epoch() / tick);
}

std::uint64_t mark_of(const subject& about) noexcept {
  std::uint64_t print = 0;
  std::memcpy(&print, about.print.value.data(), sizeof print);
  constexpr std::uint64_t odd = 0x9e37'79b9'7f4a'7c15;
  return print ^ base::checksum_of(about.key) * odd ^ base::checksum_of(about.route);
}

std::uint64_t scope_of(const digest& scope) noexcept {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < scope_bytes; ++i) out = out << 8 | scope[i];
  return out;
}

std::array<unsigned char, scope_bytes> scope_digest_begin(std::uint64_t scope) noexcept {
  std::array<unsigned char, scope_bytes> out{};
  for (std::size_t i = scope_bytes; i-- > 0; scope >>= 8) {
    out[i] = static_cast<unsigned char>(scope & 0xff);
  }
  return out;
}

}  // namespace

scope_watch::scope_watch(engine_counters& counters) : counters_(counters), scopes_(remembered) {}

void scope_watch::began(const operation& op) {
  const auto scope = scope_of(op.about->scope);
  const auto now = ticks_now();
  const auto before = scopes_.exchange(mark_of(*op.about), scope << time_bits | now);
  if (!before) return;
  const auto age = static_cast<std::uint16_t>(now - static_cast<std::uint16_t>(*before));
  const auto scope_before = *before >> time_bits;
  if (scope_before == scope || age > window) return;
  counters_.other_scopes.fetch_add(1, std::memory_order_relaxed);
  base::log(base::event::other_scope,
            {{"route", op.about->route},
             {"record", base::digest_text(op.id)},
             {"scope", base::digest_text(op.about->scope)},
             {"before", base::digest_text(scope_digest_begin(scope_before))}});
}

}  // namespace onceguard
