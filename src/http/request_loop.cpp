#include "http/request_loop.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace onceguard::http {

using base::iequals;

std::string_view via_element(int minor) noexcept {
  return minor == 0 ? "1.0 onceguard" : "1.1 onceguard";
}

std::string_view circle_fault(std::span<const base::field> fields, std::string_view mark,
                              std::size_t max_hops) {
  std::size_t hops = 0;
  for (const auto& f : fields) {
    if (iequals(f.name, loop_field) && f.value.find(mark) != std::string_view::npos) {
      return "This request has come through this gateway before: an upstream leads back to it.";
    }
    if (!iequals(f.name, via_field)) continue;
    base::each_list_element(f.value, [&](std::string_view element) {
      // The protocol, the gateway's name, and perhaps a comment.
      element.remove_prefix(std::min(element.find_first_of(" \t"), element.size()));
      element = base::trim(element);
      if (iequals(element.substr(0, element.find_first_of(" \t")), "onceguard")) ++hops;
    });
  }
  if (hops <= max_hops) return {};
  return "This request has come through too many gateways: an upstream seems to lead back to one "
         "of them.";
}

}  // namespace onceguard::http
