// The reference store by its URL: what it is, how it is opened and examined.
#include <array>

#include "store/linked_stores.hpp"
#include "store/memory/memory_store.hpp"

namespace onceguard {

const store_kind& memory_store_kind() noexcept {
  static constexpr std::array<std::string_view, 1> schemes{"memory"};
  static const store_kind kind{
      .schemes = schemes,
      .position = 6,
      .example = "memory:",
      .traits = {.name = "memory", .durable = false, .shared = false},
      .open = [](const store_params& params) -> result<std::unique_ptr<store>> {
        return std::unique_ptr<store>(std::make_unique<memory_store>(*params.clock));
      },
      .url_fault =
          [](std::string_view url) {
            return std::string(url == "memory:" ? "" : "memory: takes nothing after the colon");
          },
      .unreadable_from_outside =
          [](const std::string&) {
            return std::string("a memory: store can't be seen from another process");
          },
      .examine = [](const store_params&, store_role role) -> base::diagnoses {
        return {{base::diagnosis::grade::warning, diagnosis_id(role, "durability"),
                 "memory: the records end with the process, and what they guard runs again",
                 "take sqlite:PATH for anything but trials"}};
      },
  };
  return kind;
}

ONCEGUARD_REGISTER_STORE(memory);

}  // namespace onceguard
