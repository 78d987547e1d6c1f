// A stored record from hostile bytes: as they are, and with a checksum that fits, so that the
// fields behind it are reached as well. What is read must be written back as the same bytes.
#include <cstdlib>
#include <string>

#include "base/hash.hpp"
#include "core/record_codec.hpp"

namespace {

void read_and_write_back(std::string_view bytes) {
  const auto read = onceguard::decode_record(bytes);
  if (read && onceguard::encode_record(*read) != bytes) std::abort();
  if (!read && read.error().code != onceguard::errc::record_unreadable) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  std::string input(reinterpret_cast<const char*>(bytes), size);
  read_and_write_back(input);
  const auto sum = onceguard::base::sha256_of(input);
  input.append(onceguard::base::as_chars(sum).substr(0, 8));
  read_and_write_back(input);
  return 0;
}
