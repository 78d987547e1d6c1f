// What a stranger sends costs no more for each byte the longer it is: the input is the pattern of
// which a long text is made, and every parser that reads before anything is verified reads it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include <onceguard/fingerprint.hpp>

#include "base/form.hpp"
#include "core/multipart.hpp"
#include "json/json_values.hpp"

namespace {

using namespace onceguard;

constexpr std::size_t length = 1u << 18;
/// Processor time, with the sanitizers: about fifty times what it takes. What is quadratic takes
/// hundreds of times as long.
constexpr std::clock_t most = CLOCKS_PER_SEC * 2;

std::string repeated(std::string_view one) {
  std::string out;
  out.reserve(length + one.size());
  while (out.size() < length) out += one;
  return out;
}

template <class Call>
void measure(const Call& call) {
  const auto begun = std::clock();
  call();
  if (std::clock() - begun > most) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view one(reinterpret_cast<const char*>(bytes), size);
  const auto text = repeated(one);
  const auto list = "[" + text + "0]";
  const auto object = "{" + text + "\"\":0}";
  for (const auto* whole : {&text, &list, &object}) {
    measure([&] { static_cast<void>(json_values(*whole).at("/0")); });
    measure([&] { static_cast<void>(canonical_json(*whole, fingerprint_rule{})); });
  }
  measure([&] { static_cast<void>(base::parse_form(text)); });
  measure([&] { static_cast<void>(core::cut_multipart("multipart/form-data; boundary=b", text)); });
  measure([&] { static_cast<void>(core::cut_multipart("multipart/form-data;" + text, "--b")); });
  return 0;
}
