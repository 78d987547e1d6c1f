// Requests and heads of responses on streamable HTTP.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.hpp"

namespace onceguard::mcp {

/// The fields of a head, as they came.
class field_list {
 public:
  void add(std::string_view name, std::string_view value) { all_.emplace_back(name, value); }
  void erase(std::string_view name) {
    std::erase_if(all_, [&](const auto& each) { return base::iequals(each.first, name); });
  }
  void set(std::string_view name, std::string_view value) {
    erase(name);
    add(name, value);
  }
  /// The first with this name; empty: there is none.
  [[nodiscard]] std::string_view operator[](std::string_view name) const {
    const auto found = std::ranges::find_if(
        all_, [&](const auto& each) { return base::iequals(each.first, name); });
    return found == all_.end() ? std::string_view() : std::string_view(found->second);
  }
  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

struct http_request {
  std::string method;
  std::string target;
  bool knows_chunks = true;  ///< its sender does: HTTP/1.1
  field_list fields{};
  std::string body{};
};

struct http_head {
  unsigned status = 200;
  std::string reason{};  ///< empty: the usual one
  field_list fields{};
  bool is_early = false;  ///< the server will never have all of the request
};

/// Whether the content of a response is of this type, whatever its parameters.
[[nodiscard]] bool is_type(const http_head& head, std::string_view wanted);
/// Whether its bytes are those of the text.
[[nodiscard]] bool is_legible(const http_head& head);

/// Whether nothing may stand behind a head with this status.
[[nodiscard]] constexpr bool is_bodiless(unsigned status) noexcept {
  return status == 204 || status == 205 || status == 304;
}

/// Whether a header goes from one connection to the next (RFC 9110, section 7.6.1), and is not made
/// anew there.
[[nodiscard]] bool travels(std::string_view name) noexcept;

}  // namespace onceguard::mcp
