// Writes one span as OTLP's JSON has it: ids in hex, 64-bit numbers as strings.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/request_report.hpp"
#include "http/trace_context.hpp"

namespace onceguard::trace {

/// The numbers are OTLP's.
enum class span_kind : std::uint8_t { internal = 1, server = 2, client = 3 };

/// Appends an object, which the destructor ends. Each member once.
class span_writer {
 public:
  span_writer(std::string& out, const http::trace_id& trace, const http::span_id& span);
  ~span_writer() { out_ += '}'; }
  span_writer(const span_writer&) = delete;
  span_writer& operator=(const span_writer&) = delete;

  void parent(const http::span_id& span);
  /// `detail` follows after a space, unless it is empty.
  void name(std::string_view text, std::string_view detail);
  void kind(span_kind kind);
  /// From `begin` to `end` after `wall_us`, microseconds since 1970.
  void times(std::int64_t wall_us, std::chrono::microseconds begin, std::chrono::microseconds end);
  void link(const http::trace_id& trace, const http::span_id& span);
  void status(bool failed);
  void request_attributes(const http::request_report& report);
  void upstream_attributes(const http::request_report& report);

 private:
  std::string& out_;
};

/// Appends `[{"key":…,"value":{"stringValue":…}}, …]`, piece by piece. Empty texts are left out.
class attribute_writer {
 public:
  explicit attribute_writer(std::string& out) : out_(out) { out_ += R"("attributes":[)"; }
  ~attribute_writer() { out_ += ']'; }
  attribute_writer(const attribute_writer&) = delete;
  attribute_writer& operator=(const attribute_writer&) = delete;

  void text(std::string_view key, std::string_view value);
  void number(std::string_view key, std::uint64_t value);

 private:
  void begin(std::string_view key);

  std::string& out_;
  bool first_ = true;
};

}  // namespace onceguard::trace
