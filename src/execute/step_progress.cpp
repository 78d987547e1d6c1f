#include "execute/step_progress.hpp"

#include <optional>

#include "core/record_codec.hpp"

namespace onceguard {
namespace {

constexpr char forward = 1;
constexpr char compensating = 2;

void append_progress_number(std::string& out, std::size_t number) {
  for (int shift = 0; shift < 32; shift += 8) {
    out.push_back(static_cast<char>((number >> shift) & 0xff));
  }
}

void append_progress_text(std::string& out, std::string_view text) {
  append_progress_number(out, text.size());
  out += text;
}

std::optional<std::size_t> cut_progress_number(std::string_view& text) {
  if (text.size() < 4) return std::nullopt;
  std::size_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    out |= std::size_t{static_cast<unsigned char>(text[i])} << (8 * i);
  }
  text.remove_prefix(4);
  return out;
}

std::optional<std::string> cut_progress_text(std::string_view& text) {
  const auto size = cut_progress_number(text);
  if (!size || text.size() < *size) return std::nullopt;
  std::string out(text.substr(0, *size));
  text.remove_prefix(*size);
  return out;
}

error foreign_progress() {
  return error(errc::record_unreadable,
               "stored progress: not written by execute_steps, or by a newer version");
}

/// Reads what stands between the format and the steps.
bool cut_failure(std::string_view& bytes, step_progress& out) {
  const auto compensated = cut_progress_number(bytes);
  const auto reply = compensated ? cut_progress_text(bytes) : std::nullopt;
  if (!reply) return false;
  auto decoded = decode_answer(*reply);
  if (!decoded || !*decoded) return false;
  out.failure = std::move(*decoded);
  out.compensated = *compensated;
  return true;
}

}  // namespace

std::string encode_progress(const step_progress& progress) {
  std::string out(1, progress.failure ? compensating : forward);
  if (progress.failure) {
    append_progress_number(out, progress.compensated);
    append_progress_text(out, encode_answer(*progress.failure));
  }
  for (const auto& one : progress.done) {
    append_progress_text(out, one.name);
    append_progress_text(out, one.stored);
  }
  return out;
}

result<step_progress> decode_progress(std::string_view bytes) {
  step_progress out;
  if (bytes.empty()) return out;
  const char format = bytes.front();
  bytes.remove_prefix(1);
  if (format != forward && format != compensating) return foreign_progress();
  if (format == compensating && !cut_failure(bytes, out)) return foreign_progress();
  while (!bytes.empty()) {
    auto name = cut_progress_text(bytes);
    auto stored = name ? cut_progress_text(bytes) : std::nullopt;
    if (!stored) return foreign_progress();
    out.done.push_back({std::move(*name), std::move(*stored)});
  }
  if (out.compensated > out.done.size()) return foreign_progress();
  return out;
}

}  // namespace onceguard
