// A raw connection: any bytes in any pieces. Split and whole feeding must agree, and every head
// that is accepted must say the same after it was written again.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/ascii.hpp"
#include "http1/reading.hpp"

namespace onceguard::http1::testing {
namespace {

void must(bool holds, const char* description) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", description);
  std::abort();
}

constexpr std::string_view methods[] = {"GET", "HEAD", "CONNECT"};

/// Small enough for the fuzzer to reach them.
limits bounds_of(std::uint8_t choice) {
  limits bounds;
  if (choice & 1) bounds.head_bytes_max = 128;
  if (choice & 2) bounds.target_bytes_max = 16;
  if (choice & 4) bounds.header_count_max = 3;
  if (choice & 8) bounds.chunk_line_bytes_max = 8;
  if (choice & 16) bounds.trailer_bytes_max = 32;
  return bounds;
}

std::string written_again(const message& m, reader::kind kind) {
  std::string out;
  if (kind == reader::kind::request) {
    append_request_line(out, m.method, m.target);
  } else {
    append_status_line(out, static_cast<std::uint16_t>(m.status), m.reason);
  }
  for (const auto& [name, value] : m.fields) append_field(out, name, value);
  append_end_of_head(out);
  return out;
}

void check_written_again(const message& m, const input& input) {
  if (m.minor == 0) return;  // written as HTTP/1.1, other rules hold
  const auto bytes = written_again(m, input.kind);
  limits bounds;
  bounds.head_bytes_max = bytes.size();
  reader r(input.kind, bounds);
  r.answers_to(input.method);
  std::memcpy(r.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  r.commit(bytes.size());
  must(r.next() == progress::head, "a head that was written again is refused");
  auto again = copy_of(r.head());
  again.body = m.body;
  again.complete = m.complete;
  if (m.reason.empty()) again.reason = m.reason;
  again.reason = base::trim(again.reason);
  auto expected = m;
  expected.reason = base::trim(expected.reason);
  must(again == expected, "a head that was written again says something else");
}

void check(const input& input, std::string_view sizes) {
  const auto expected = read(input);
  must(expected.fault_status != 0 || expected.fault.empty(), "the head changed");
  std::size_t turn = 0;
  const auto in_pieces = [&](std::size_t) -> std::size_t {
    if (sizes.empty()) return 1;
    return static_cast<unsigned char>(sizes[turn++ % sizes.size()]) % 64u + 1u;
  };
  must(read(input, in_pieces) == expected, "split and whole feeding differ");
  must(read(input, bytewise) == expected, "bytewise and whole feeding differ");
  for (const auto& message : expected.messages) check_written_again(message, input);
}

}  // namespace
}  // namespace onceguard::http1::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace onceguard::http1::testing;
  if (size < 3) return 0;
  const std::string_view all(reinterpret_cast<const char*>(bytes), size);
  const auto bounds = bounds_of(bytes[0]);
  const std::size_t count_of_sizes = std::min<std::size_t>(bytes[1] % 16, size - 3);
  const auto sizes = all.substr(3, count_of_sizes);
  const auto connection = all.substr(3 + count_of_sizes);
  check({onceguard::http1::reader::kind::request, connection, bounds}, sizes);
  const auto question = methods[bytes[2] % std::size(methods)];
  check({onceguard::http1::reader::kind::answer, connection, bounds, question}, sizes);
  return 0;
}
