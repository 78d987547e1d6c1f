#include "store/sealed/sealed_answer.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include <openssl/evp.h>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "core/record_codec.hpp"
#include "store/record_errors.hpp"

namespace onceguard::sealed {
namespace {

// With a space, no name of a header of HTTP.
constexpr std::string_view mark = "onceguard sealed";
constexpr std::string_view format = "1";
constexpr std::size_t vector_size = 12;
constexpr std::size_t tag_size = 16;

using initial_vector = std::array<unsigned char, vector_size>;

/// Eight random bytes for each 2^32 numbers of this process: nothing repeats here, and two
/// processes meet with a chance of 2^-64 for each pair.
class vector_source {
 public:
  initial_vector next() {
    const std::lock_guard lock(mutex_);
    if (used_ == 0) base::random_bytes(std::span(prefix_));
    initial_vector out{};
    std::memcpy(out.data(), prefix_.data(), prefix_.size());
    std::memcpy(out.data() + prefix_.size(), &used_, sizeof used_);
    // From the last number to 0: another prefix.
    ++used_;
    return out;
  }

 private:
  std::mutex mutex_;
  std::array<unsigned char, vector_size - sizeof(std::uint32_t)> prefix_{};
  std::uint32_t used_ = 0;
};

vector_source& vectors() {
  static vector_source all;
  return all;
}

EVP_CIPHER* cipher() {
  static EVP_CIPHER* const it = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
  if (it == nullptr) throw std::runtime_error("OpenSSL has no AES-256-GCM");
  return it;
}

/// One for each thread. Null: no memory.
EVP_CIPHER_CTX* context() {
  struct release {
    void operator()(EVP_CIPHER_CTX* it) const { EVP_CIPHER_CTX_free(it); }
  };
  static thread_local const std::unique_ptr<EVP_CIPHER_CTX, release> it(EVP_CIPHER_CTX_new());
  return it.get();
}

void append_number(std::string& out, std::uint64_t value) {
  for (int i = 0; i < 8; ++i, value >>= 8) out += static_cast<char>(value & 0xff);
}

/// Each part has one length for all answers, but the last.
std::string bound_text(const binding& bound, std::uint16_t status, std::string_view key_id) {
  std::string out("onceguard answer ");
  out += format;
  out += base::as_chars(bound.id);
  append_number(out, bound.token);
  append_number(out, status);
  out += key_id;
  return out;
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

bool fits(std::string_view text) { return text.size() <= std::numeric_limits<int>::max() / 2; }

/// Initial vector, ciphertext, tag; none: OpenSSL has no memory.
std::optional<std::string> encrypt(std::string_view plain, std::string_view bound,
                                   const ring_key& key) {
  auto* const it = context();
  if (it == nullptr || !fits(plain)) return std::nullopt;
  const auto once = vectors().next();
  std::string out(base::as_chars(once));
  out.resize(vector_size + plain.size() + tag_size);
  auto* const body = bytes_of(out) + vector_size;
  int size = 0;
  int rest = 0;
  const bool done =
      EVP_EncryptInit_ex2(it, cipher(), key.bytes.data(), once.data(), nullptr) == 1 &&
      EVP_EncryptUpdate(it, nullptr, &size, bytes_of(bound), static_cast<int>(bound.size())) == 1 &&
      EVP_EncryptUpdate(it, body, &size, bytes_of(plain), static_cast<int>(plain.size())) == 1 &&
      EVP_EncryptFinal_ex(it, body + size, &rest) == 1 &&
      EVP_CIPHER_CTX_ctrl(it, EVP_CTRL_AEAD_GET_TAG, tag_size, body + plain.size()) == 1;
  if (!done) return std::nullopt;
  return out;
}

/// None: it is not what was encrypted, or was bound to something else.
std::optional<std::string> decrypt(std::string_view whole, std::string_view bound,
                                   const ring_key& key) {
  auto* const it = context();
  if (it == nullptr || whole.size() < vector_size + tag_size || !fits(whole)) return std::nullopt;
  const auto body = whole.substr(vector_size, whole.size() - vector_size - tag_size);
  std::string tag(whole.substr(vector_size + body.size()));
  std::string out(body.size() + 1, '\0');  // OpenSSL wants a place also for no bytes
  int size = 0;
  int rest = 0;
  const bool done =
      EVP_DecryptInit_ex2(it, cipher(), key.bytes.data(), bytes_of(whole), nullptr) == 1 &&
      EVP_DecryptUpdate(it, nullptr, &size, bytes_of(bound), static_cast<int>(bound.size())) == 1 &&
      EVP_DecryptUpdate(it, bytes_of(out), &size, bytes_of(body), static_cast<int>(body.size())) ==
          1 &&
      EVP_CIPHER_CTX_ctrl(it, EVP_CTRL_AEAD_SET_TAG, tag_size, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(it, bytes_of(out) + size, &rest) == 1;
  if (!done) return std::nullopt;
  out.resize(body.size());
  return out;
}

constexpr std::string_view absent_key = "is encrypted with the key \"";

error not_opened(const std::string& why) { return unreadable("its answer " + why); }

/// "1 TOKEN KEY-ID".
struct seal_label {
  onceguard::token token = 0;
  std::string_view key_id;
};

std::optional<seal_label> read_label(std::string_view text) {
  if (!text.starts_with("1 ")) return std::nullopt;
  text.remove_prefix(2);
  seal_label out;
  const auto* const end = text.data() + text.size();
  const auto [behind, fault] = std::from_chars(text.data(), end, out.token);
  if (fault != std::errc() || behind == end || *behind != ' ') return std::nullopt;
  out.key_id = std::string_view(behind + 1, static_cast<std::size_t>(end - behind - 1));
  return out;
}

}  // namespace

bool is_sealed(const answer& kept) noexcept {
  return kept.headers.size() == 1 && kept.headers.front().first == mark;
}

result<answer_ptr> seal(const answer& plain, const binding& bound, const ring_key& key) {
  auto body = encrypt(encode_answer(plain), bound_text(bound, plain.status, key.id), key);
  if (!body) return error(errc::overloaded, "an answer could not be encrypted: no memory");
  auto out = std::make_shared<answer>();
  out->status = plain.status;
  out->headers.emplace_back(mark,
                            std::string(format) + " " + std::to_string(bound.token) + " " + key.id);
  out->body = std::move(*body);
  return answer_ptr(std::move(out));
}

result<opened_answer> open(const answer& kept, const record_id& id, const key_ring* ring) {
  const auto label = read_label(kept.headers.front().second);
  if (!label) return not_opened("is encrypted in a format that this version does not read");
  const std::string name(label->key_id);
  if (ring == nullptr) {
    return not_opened(std::string(absent_key) + name +
                      "\", and [store] encryption_keys_file is not set");
  }
  const auto* key = ring->find(name);
  if (key == nullptr) {
    return not_opened(std::string(absent_key) + name +
                      "\", which is not in [store] encryption_keys_file: put it back");
  }
  const auto plain = decrypt(kept.body, bound_text({id, label->token}, kept.status, name), *key);
  if (!plain) {
    return not_opened("does not open with the key \"" + name +
                      "\": it was changed, is that of another record, or the key is another");
  }
  auto out = decode_answer(*plain);
  if (!out) return out.error();
  return opened_answer{std::move(*out), label->token};
}

bool needs_opening(const answer_ptr& kept) { return kept && is_sealed(*kept); }

result<void> open_if_sealed(answer_ptr& kept, const record_id& id, const key_ring* ring) {
  if (!needs_opening(kept)) return {};
  auto opened = open(*kept, id, ring);
  if (!opened) return opened.error();
  kept = std::move(opened->plain);
  return {};
}

result<void> open_record(record_view& seen, const key_ring* ring) {
  auto& kept = seen.stored.answer;
  if (!needs_opening(kept)) return {};
  auto opened = open(*kept, seen.id, ring);
  if (!opened) return opened.error();
  if (opened->token != seen.stored.token && opened->token != 0) {
    return unreadable("its answer is that of the token " + std::to_string(opened->token));
  }
  kept = std::move(opened->plain);
  seen.body_size = kept->body.size();
  return {};
}

void open_or_leave_out(record_view& seen, const key_ring* ring) {
  auto& kept = seen.stored.answer;
  if (!needs_opening(kept) || open_record(seen, ring)) return;
  auto head = std::make_shared<answer>();
  head->status = kept->status;
  kept = std::move(head);
}

bool lacks_key(std::string_view why) noexcept {
  return why.find(absent_key) != std::string_view::npos;
}

error not_for_applications(const answer& kept) {
  const auto label = read_label(kept.headers.front().second);
  const auto key = label ? "the key \"" + std::string(label->key_id) + "\"" : std::string("a key");
  return not_opened("is encrypted with " + key +
                    ", which no session of an application has: the operation took effect; claim "
                    "it by a process of Onceguard, with [store] encryption_keys_file");
}

}  // namespace onceguard::sealed
