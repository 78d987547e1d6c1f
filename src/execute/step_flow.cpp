#include "execute/step_flow.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "base/hash.hpp"

namespace onceguard {
namespace {

constexpr char format = 1;

void append_text(std::string& out_text, std::string_view text) {
  for (int shift = 0; shift < 32; shift += 8) {
    out_text.push_back(static_cast<char>((text.size() >> shift) & 0xff));
  }
  out_text += text;
}

std::optional<std::string> cut_text(std::string_view& text) {
  if (text.size() < 4) return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    size |= std::size_t{static_cast<unsigned char>(text[i])} << (8 * i);
  }
  text.remove_prefix(4);
  if (text.size() < size) return std::nullopt;
  std::string out(text.substr(0, size));
  text.remove_prefix(size);
  return out;
}

error foreign() {
  return error(errc::record_unreadable, "stored progress: not written by execute_steps");
}

}  // namespace

std::string encode_steps(const std::vector<step_done>& done) {
  std::string out(1, format);
  for (const auto& one : done) {
    append_text(out, one.name);
    append_text(out, one.gave);
  }
  return out;
}

result<std::vector<step_done>> decode_steps(std::string_view bytes) {
  std::vector<step_done> out;
  if (bytes.empty()) return out;
  if (bytes.front() != format) return foreign();
  for (bytes.remove_prefix(1); !bytes.empty();) {
    auto name = cut_text(bytes);
    auto gave = name ? cut_text(bytes) : std::nullopt;
    if (!gave) return foreign();
    out.push_back({std::move(*name), std::move(*gave)});
  }
  return out;
}

std::string step_flow::step(std::string_view name, const std::function<std::string()>& work) {
  if (ended_) throw attempt_ended{*ended_};
  if (next_ < done_.size()) {
    const auto& earlier = done_[next_];
    if (earlier.name != name) {
      throw std::logic_error("execute_steps: an earlier attempt did '" + earlier.name +
                             "' where this one does '" + std::string(name) + "'");
    }
    ++next_;
    return earlier.gave;
  }
  const auto same = [&](const step_done& one) { return one.name == name; };
  if (std::any_of(done_.begin(), done_.end(), same)) {
    throw std::logic_error("execute_steps: a second step '" + std::string(name) + "'");
  }
  auto with_this = done_;
  with_this.push_back({std::string(name), {}});
  try {
    commit_step(name, [&] {
      with_this.back().gave = work();
      return encode_steps(with_this);
    });
  } catch (const attempt_ended& over) {
    ended_ = over.why;
    throw;
  }
  done_ = std::move(with_this);
  ++next_;
  return done_.back().gave;
}

std::string step_flow::key_for(std::string_view purpose) const {
  base::sha256 hash;
  hash.part("onceguard step 1").part(base::as_chars(id_)).part(purpose);
  return base::to_hex(hash.finish());
}

error overtaken() {
  return error(errc::write_conflict,
               "execute_steps: another attempt has taken this operation over; call again",
               effect::unknown);
}

}  // namespace onceguard
