#include "admin/token_list.hpp"

#include <array>
#include <utility>

namespace onceguard::admin {

namespace {

constexpr std::array<std::string_view, 2> roles{"operator", "viewer"};
constexpr http1::token_rules rules{"admin_token_file", roles};

}  // namespace

result<token_list> token_list::read(const std::string& path) {
  auto held = http1::token_file::read(path, rules);
  if (!held) return held.error();
  return token_list(*std::move(held));
}

result<std::string> find_viewing_token(const std::string& path) {
  return http1::find_token(path, rules, "viewer");
}

caller token_list::find(std::string_view authorization) const {
  const auto* const holder = held_.find(authorization);
  if (holder == nullptr) return {};
  return {holder->role == "operator" ? access::act : access::view, holder->name};
}

}  // namespace onceguard::admin
