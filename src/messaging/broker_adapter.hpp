// What the adapters of brokers have in common: an adapter says how its URLs are read, and what its
// consumer and its publisher are; the rest of its broker_kind is made here.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "messaging/broker_kind.hpp"
#include "messaging/broker_tls.hpp"
#include "messaging/failed_call.hpp"

namespace onceguard::messaging {

/// broker_kind::url_fault of a broker whose URLs are read by `Read`, a function that takes the text
/// and the role.
template <auto Read>
[[nodiscard]] std::string url_fault_by(std::string_view url, broker_role role) {
  const auto read = Read(url, role);
  return read ? std::string() : read.error().detail;
}

/// broker_kind::files_fault: of the files of TLS, or of all for which what was read answers.
template <auto Read>
[[nodiscard]] std::string files_fault_by(std::string_view url, broker_role role) {
  const auto read = Read(url, role);
  if (!read) return {};
  if constexpr (requires { read->files_fault(); }) {
    return read->files_fault();
  } else {
    return files_fault(read->tls);
  }
}

/// A consumer or a publisher, made of what the URL says and the parameters; the constructor may
/// throw `failed`. One that has a function `open` is opened by it.
template <auto Read, class Made>
[[nodiscard]] auto open_by(const broker_params& params) {
  constexpr bool consumes = std::is_base_of_v<consumer, Made>;
  using interface = std::conditional_t<consumes, consumer, publisher>;
  const auto read = Read(params.url, consumes ? broker_role::consumer : broker_role::publisher);
  return caught([&]() -> std::unique_ptr<interface> {
    if (!read) throw failed{read.error()};
    auto out = std::make_unique<Made>(*read, params);
    if constexpr (requires { out->open(); }) {
      if (auto opened = out->open(); !opened) throw failed{std::move(opened.error())};
    }
    return out;
  });
}

}  // namespace onceguard::messaging

/// Makes a broker known to open_consumer and open_publisher, in programs that link its component:
/// the linker takes the file with this line in by the room's name (cmake/rooms.cmake).
#define ONCEGUARD_BROKER(room, kind)                 \
  extern "C" {                                       \
  extern const char onceguard_##room##_registration; \
  const char onceguard_##room##_registration = 1;    \
  }                                                  \
  static const onceguard::messaging::broker_registration onceguard_##room##_broker(kind)
