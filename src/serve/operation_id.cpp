#include "serve/operation_id.hpp"

#include <algorithm>
#include <array>

#include "base/base64.hpp"
#include "base/hex.hpp"
#include "base/random.hpp"

namespace onceguard::serve {
namespace {

constexpr std::string_view version = "1-";
constexpr std::string_view observed = "observed-";
constexpr std::size_t mark_length = 16;
constexpr std::size_t longest = 8 * 1024;

/// Base64url without padding.
std::string to_path(std::string_view bytes) {
  auto out = base::to_base64(bytes);
  while (out.ends_with('=')) out.pop_back();
  std::replace(out.begin(), out.end(), '+', '-');
  std::replace(out.begin(), out.end(), '/', '_');
  return out;
}

using number_bytes = std::array<unsigned char, 8>;

/// Takes a hex part and its hyphen from the begin of the text.
bool take_hex(std::string_view& text, std::span<unsigned char> out) {
  const auto digits = 2 * out.size();
  if (text.size() <= digits || text[digits] != '-') return false;
  if (!base::from_hex(text.substr(0, digits), out)) return false;
  text.remove_prefix(digits + 1);
  return true;
}

}  // namespace

std::string operation_id::text() const {
  number_bytes number{};
  for (std::size_t i = 0; i < number.size(); ++i) {
    number[i] = static_cast<unsigned char>(held.token >> (8 * (number.size() - 1 - i)));
  }
  std::string out(version);
  base::append_hex(out, record);
  out += '-';
  base::append_hex(out, number);
  out += '-';
  base::append_hex(out, held.claim_id);
  out += '-';
  out += mark;
  out += '-';
  out += static_cast<char>(kind);
  return out += to_path(rules);
}

std::optional<operation_id> operation_id::parse(std::string_view text) {
  if (text.size() > longest || !text.starts_with(version)) return std::nullopt;
  text.remove_prefix(version.size());
  operation_id out;
  number_bytes number{};
  std::array<unsigned char, mark_length / 2> mark{};
  if (!take_hex(text, out.record) || !take_hex(text, number) ||
      !take_hex(text, out.held.claim_id) || !take_hex(text, mark) || text.empty()) {
    return std::nullopt;
  }
  for (const auto each : number) out.held.token = out.held.token << 8 | each;
  out.mark = base::to_hex(mark);
  constexpr std::string_view kinds = "rpod";
  if (kinds.find(text.front()) == kinds.npos) return std::nullopt;
  out.kind = static_cast<rules_kind>(text.front());
  auto rules = base::from_base64url(text.substr(1));
  if (!rules || (out.held.token == 0)) return std::nullopt;
  out.rules = *std::move(rules);
  return out;
}

std::string make_observed_id() {
  std::array<unsigned char, 16> number{};
  base::random_bytes(number);
  return std::string(observed) + base::to_hex(number);
}

bool is_observed_id(std::string_view text) {
  std::array<unsigned char, 16> number{};
  return text.starts_with(observed) && base::from_hex(text.substr(observed.size()), number);
}

}  // namespace onceguard::serve
