// Any bytes as the value of If-Match: tags that are the same when they are written again, or an
// error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <onceguard/etag.hpp>

namespace {

using namespace onceguard;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_error(const error& e) {
  require(e.code == errc::invalid_argument);
  require(e.detail.ends_with(')') && e.detail.find(" (byte ") != std::string::npos);
  require(e.detail.size() < 120);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string value(reinterpret_cast<const char*>(bytes), size);
  const auto one = http::parse_etag(value);
  if (one) {
    require(http::parse_etag(one->text()).value() == *one);
    require(http::parse_etag_condition(one->text())->tags.at(0) == *one);
  } else {
    check_error(one.error());
  }
  const auto read = http::parse_etag_condition(value);
  if (!read) {
    check_error(read.error());
    return 0;
  }
  require(read->any == read->tags.empty());
  std::string written;
  for (const auto& tag : read->tags) written += (written.empty() ? "" : ", ") + tag.text();
  if (!read->any) require(http::parse_etag_condition(written)->tags == read->tags);
  return 0;
}
