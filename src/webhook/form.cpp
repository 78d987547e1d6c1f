#include "webhook/form.hpp"

#include <algorithm>

namespace onceguard::webhook {

std::string sorted_text(form_fields fields) {
  std::sort(fields.begin(), fields.end());
  fields.erase(std::unique(fields.begin(), fields.end()), fields.end());
  std::string out;
  for (const auto& [name, value] : fields) out.append(name).append(value);
  return out;
}

}  // namespace onceguard::webhook
