#include "admin/gzip.hpp"

#include <limits>
#include <new>
#include <zlib.h>

#include "base/ascii.hpp"

namespace onceguard::admin {
namespace {

// zlib.h, deflateInit2(): "Add 16 to windowBits to write a simple gzip header".
constexpr int gzip_window = 15 + 16;
constexpr int usual_memory = 8;

/// A weight is all that may stand there: "q=0", "q=0.000" and nothing else refuse.
bool is_refused(std::string_view weight) {
  weight = base::trim(weight);
  return base::iequals(weight.substr(0, 2), "q=") &&
         weight.substr(2).find_first_not_of("0.") == weight.npos;
}

/// The state of zlib, which is freed whatever happens.
class deflater {
 public:
  deflater()
      : ready_(::deflateInit2(&stream_, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window, usual_memory,
                              Z_DEFAULT_STRATEGY) == Z_OK) {}
  ~deflater() {
    if (ready_) ::deflateEnd(&stream_);
  }
  deflater(const deflater&) = delete;
  deflater& operator=(const deflater&) = delete;

  [[nodiscard]] bool ready() const noexcept { return ready_; }
  z_stream& stream() noexcept { return stream_; }

 private:
  z_stream stream_{};
  bool ready_;
};

}  // namespace

bool takes_gzip(std::span<const base::field> fields) {
  bool out = false;
  for (const auto& field : fields) {
    if (!base::iequals(field.name, "accept-encoding")) continue;
    base::each_list_element(field.value, [&](std::string_view element) {
      const auto end = element.find(';');
      const auto weight = end == element.npos ? std::string_view() : element.substr(end + 1);
      if (base::iequals(base::trim(element.substr(0, end)), "gzip")) out = !is_refused(weight);
    });
  }
  return out;
}

std::string gzip_of(std::string_view text) {
  deflater made;
  if (!made.ready() || text.size() > std::numeric_limits<uInt>::max()) throw std::bad_alloc();
  auto& stream = made.stream();
  std::string out;
  out.resize(::deflateBound(&stream, static_cast<uLong>(text.size())));
  // zlib only reads its input, but its interface is older than const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (::deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::bad_alloc();  // the bound holds it
  out.resize(stream.total_out);
  return out;
}

}  // namespace onceguard::admin
