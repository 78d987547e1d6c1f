#include "store/sealed/key_ring.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <utility>

#include <openssl/crypto.h>

#include "base/base64.hpp"
#include "base/hex.hpp"
#include "store/private_file.hpp"

namespace onceguard::sealed {
namespace {

constexpr std::size_t file_size_max = 64u << 10;
constexpr std::size_t id_size_max = 32;
constexpr std::string_view id_characters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

/// False: these are not 32 bytes, neither as hex digits nor as base64.
bool read_key(const std::string& text, std::array<unsigned char, 32>& out) {
  if (base::from_hex(text, out)) return true;
  auto bytes = base::from_base64(text);
  if (!bytes || bytes->size() != out.size()) return false;
  std::memcpy(out.data(), bytes->data(), out.size());
  OPENSSL_cleanse(bytes->data(), bytes->size());
  return true;
}

/// What is wrong with the line; empty: it holds the key.
std::string read_line(const std::string& line, ring_key& out) {
  std::istringstream words(line);
  std::string text;
  std::string more;
  words >> out.id;
  if (out.id.size() > id_size_max || out.id.find_first_not_of(id_characters) != std::string::npos) {
    return "an id has 1 to " + std::to_string(id_size_max) +
           " letters, digits and characters of \"._-\"";
  }
  if (!(words >> text) || words >> more) return "expected \"ID KEY\"";
  if (!read_key(text, out.bytes)) return "a key is 32 bytes, as 64 hex digits or as base64";
  return {};
}

}  // namespace

result<key_ring> key_ring::read(const std::string& path) {
  const auto refused = [&](const std::string& fault) {
    return error(errc::invalid_argument, path + ": " + fault);
  };
  const auto held = read_private_file(path, file_size_max);
  if (!held) return held.error();
  std::vector<ring_key> keys;
  std::istringstream input(*held);
  std::string line;
  for (std::size_t number = 1; std::getline(input, line); ++number) {
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    ring_key key;
    const auto where = "line " + std::to_string(number) + ": ";
    if (const auto fault = read_line(line, key); !fault.empty()) return refused(where + fault);
    const auto same = [&](const ring_key& other) { return other.id == key.id; };
    if (std::any_of(keys.begin(), keys.end(), same)) {
      return refused(where + "the id \"" + key.id + "\" stands there twice");
    }
    keys.push_back(std::move(key));
  }
  if (keys.empty()) return refused("holds no key");
  return key_ring(std::move(keys));
}

const ring_key* key_ring::find(std::string_view id) const noexcept {
  const auto found =
      std::find_if(keys_.begin(), keys_.end(), [&](const ring_key& each) { return each.id == id; });
  return found == keys_.end() ? nullptr : &*found;
}

ring_file::ring_file(std::string path)
    : path_(std::move(path)), watch_({path_}, [this, path = path_]() -> base::file_watch::change {
        return [this, ring = key_ring::read(path)] { known_.read_again(take(ring)); };
      }) {}

result<void> ring_file::read() { return take(key_ring::read(path_)); }

key_ring_ptr ring_file::keys() const {
  const std::lock_guard lock(mutex_);
  return keys_;
}

result<void> ring_file::take(result<key_ring> ring) {
  if (!ring) return ring.error();
  auto taken = std::make_shared<const key_ring>(std::move(*ring));
  const std::lock_guard lock(mutex_);
  keys_ = std::move(taken);
  return {};
}

}  // namespace onceguard::sealed
