// What reading and writing a head costs: in nanoseconds.
//   http1_bench [SECONDS_PER_CASE]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "http1/message.hpp"

namespace {

using namespace onceguard::http1;
using steady = std::chrono::steady_clock;

std::string head_of(std::size_t size) {
  std::string head = "POST /v1/payments HTTP/1.1\r\nHost: shop.example.com\r\n";
  const char* const fields[] = {
      "Content-Type: application/json\r\n",
      "Idempotency-Key: 8e03978e-40d5-43dd-bc93-6894a57f9324\r\n",
      "Accept: */*\r\n",
      "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0\r\n",
      "Accept-Encoding: gzip, deflate, br\r\n",
      "Accept-Language: en-US,en;q=0.5\r\n",
      "Authorization: Bearer 0123456789abcdef0123456789abcdef0123456789abcdef\r\n",
      "Cookie: session=0123456789abcdef; theme=dark; consent=1\r\n",
      "X-Request-Id: 5f0c2b1e9d3a4c6b\r\n",
      "Connection: keep-alive\r\n",
      "Cache-Control: no-cache\r\n",
  };
  for (const char* field : fields) {
    if (head.size() + std::strlen(field) + 21 > size) continue;
    head += field;
  }
  head += "Content-Length: 0\r\n";
  if (size > head.size() + 7) head += "X: " + std::string(size - head.size() - 7, 'x') + "\r\n";
  return head + "\r\n";
}

void receive(reader& r, std::string_view bytes) {
  std::memcpy(r.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  r.commit(bytes.size());
}

void must(bool holds) {
  if (!holds) std::abort();
}

/// Runs `once` for a while and prints the time of one call, divided by `parts`: the best of many
/// short rounds, as the machine may have other things to do.
template <class Once>
void measure(const char* name, double seconds, double parts, Once once) {
  constexpr double round = 0.002;
  double best = 1e9;
  for (double left = seconds; left > 0; left -= round) {
    const auto start = steady::now();
    std::size_t calls = 0;
    std::chrono::duration<double> passed{};
    do {
      for (int i = 0; i < 10; ++i) once();
      calls += 10;
      passed = steady::now() - start;
    } while (passed.count() < round);
    best = std::min(best, passed.count() / static_cast<double>(calls) / parts);
  }
  std::printf("%-44s %8.1f ns\n", name, best * 1e9);
}

void measure_head(const char* name, std::size_t size, double seconds) {
  const auto head = head_of(size);
  reader r(reader::kind::request, {});
  measure(name, seconds, 1, [&] {
    receive(r, head);
    must(r.next() == progress::head && r.next() == progress::end);
    r.reset();
  });
}

void measure_bytewise(const char* name, std::size_t size, double seconds) {
  const auto head = head_of(size);
  reader r(reader::kind::request, {});
  measure(name, seconds, static_cast<double>(head.size()), [&] {
    auto step = progress::need_more;
    for (const char& c : head) {
      must(step == progress::need_more);
      receive(r, {&c, 1});
      step = r.next();
    }
    must(step == progress::head && r.next() == progress::end);
    r.reset();
  });
}

std::size_t read_body(reader& r) {
  std::size_t read = 0;
  auto step = r.next();
  for (; step != progress::end; step = r.next()) {
    must(step == progress::head || step == progress::body);
    if (step == progress::body) read += r.body().size();
  }
  r.reset();
  return read;
}

void measure_chunks(const char* name, std::size_t piece, double seconds) {
  std::string message = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 1000; ++i) append_chunk(message, std::string(piece, 'x'));
  append_last_chunk(message);
  reader r(reader::kind::request, {});
  measure(name, seconds, 1000, [&] {
    receive(r, message);
    must(read_body(r) == 1000 * piece);
  });
}

void measure_writing(double seconds) {
  std::string out;
  measure("write an answer's head of 6 fields", seconds, 1, [&] {
    out.clear();
    append_status_line(out, 200);
    append_date(out, 784111777);
    append_field(out, "Content-Type", "application/json");
    append_field(out, "Cache-Control", "no-store");
    append_field(out, "X-Request-Id", "5f0c2b1e9d3a4c6b");
    append_field(out, "Idempotent-Replayed", "true");
    append_content_length(out, 200);
    append_end_of_head(out);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  measure_head("read a request's head of 200 bytes", 200, seconds);
  measure_head("read a request's head of 600 bytes", 600, seconds);
  measure_bytewise("the same byte by byte, per byte", 600, seconds);
  measure_bytewise("60,000 bytes byte by byte, per byte", 60'000, seconds);
  measure_chunks("read a chunk of 1 byte", 1, seconds);
  measure_chunks("read a chunk of 1,000 bytes", 1000, seconds);
  measure_writing(seconds);
}
