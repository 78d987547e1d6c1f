// A stored record from hostile bytes: as they are, and with a checksum that fits, so that the
// fields behind it are reached as well. What is read must be written back as the same bytes; of an
// older format, with the same fields.
#include <cstdlib>
#include <string>

#include "core/record_codec.hpp"
#include "support/record_bytes.hpp"

namespace {

using namespace onceguard;

void read_and_write_back(std::string_view bytes) {
  const auto read = decode_record(bytes);
  if (!read) {
    if (read.error().code != errc::record_unreadable) std::abort();
    return;
  }
  const auto written = encode_record(*read);
  const bool older = bytes.front() != record_format;
  const auto compared = [&](std::string_view text) {
    return older ? text.substr(1, text.size() - 1 - testing::record_sum_size) : text;
  };
  if (compared(written) != compared(bytes)) std::abort();
  // With its own parts beside it, it is the same record.
  const encoded_parts parts(read->about, read->answer);
  const auto again = decode_record(bytes, parts);
  if (!again || encode_record(*again, parts) != written) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(bytes), size);
  read_and_write_back(input);
  read_and_write_back(testing::with_sha256(input));
  read_and_write_back(testing::with_xxh3(input));
  return 0;
}
