#include "admin/sign_ins.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/ascii.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/random.hpp"

namespace onceguard::admin {

bool sign_ins::make_room(std::string_view authorization, access granted) {
  const auto of_token = [authorization](const auto& one) {
    return one.second.authorization == authorization;
  };
  const auto of_this = static_cast<std::size_t>(std::ranges::count_if(entries_, of_token));
  const bool among_own = of_this >= number_max_of_token;
  if (!among_own && entries_.size() < number_max) return true;
  const auto rank = [&](const auto& one) {
    const bool spared = among_own ? !of_token(one) : one.second.granted == access::act;
    return std::pair(spared, one.second.used);
  };
  const auto last = std::ranges::min_element(entries_, {}, rank);
  if (last->second.granted == access::act && granted != access::act) return false;
  entries_.erase(last);
  return true;
}

std::optional<std::string> sign_ins::begin(std::string authorization, access granted, instant now) {
  std::erase_if(entries_, [now](const auto& one) {
    return now - one.second.used > idle_max || now - one.second.begun > age_max;
  });
  if (!make_room(authorization, granted)) return std::nullopt;
  std::array<unsigned char, 32> drawn{};
  base::random_bytes(drawn);
  auto cookie = base::to_hex(drawn);
  entries_[base::sha256_of(cookie)] = {std::move(authorization), granted, now, now};
  return cookie;
}

const std::string* sign_ins::find(std::string_view cookie, instant now) {
  const auto found = entries_.find(base::sha256_of(cookie));
  if (found == entries_.end()) return nullptr;
  auto& one = found->second;
  if (now - one.used > idle_max || now - one.begun > age_max) {
    entries_.erase(found);
    return nullptr;
  }
  one.used = now;
  return &one.authorization;
}

void sign_ins::end(std::string_view cookie) { entries_.erase(base::sha256_of(cookie)); }

std::string_view find_cookie(std::string_view field, std::string_view name) noexcept {
  while (!field.empty()) {
    const auto end = field.find(';');
    const auto pair = base::trim(field.substr(0, end));
    field = end == field.npos ? std::string_view() : field.substr(end + 1);
    const auto equals = pair.find('=');
    if (equals != pair.npos && pair.substr(0, equals) == name) return pair.substr(equals + 1);
  }
  return {};
}

}  // namespace onceguard::admin
