#include "core/kept_key.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "base/base64.hpp"
#include "base/hash.hpp"
#include "base/hmac.hpp"

namespace onceguard::core {
namespace {

constexpr std::size_t kept_size = kept_prefix.size() + 43;
constexpr std::string_view base64url_characters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// What is made with a pepper, apart from each other.
constexpr std::string_view of_keys = "onceguard key 1\n";
constexpr std::string_view of_marks = "onceguard pepper 1\n";

std::atomic<const key_pepper*> in_use{nullptr};

}  // namespace

std::string key_pepper::kept(std::string_view key) const {
  const auto made = base::hmac_sha256(secret_, std::string(of_keys).append(key));
  auto text = base::to_base64(base::as_chars(made));
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  std::erase(text, '=');
  return std::string(kept_prefix) + text;
}

digest key_pepper::mark() const { return base::hmac_sha256(secret_, of_marks); }

void keep_keys_with(std::unique_ptr<const key_pepper> pepper) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<const key_pepper>> all;  // a reader may have a former one
  const std::lock_guard lock(mutex);
  in_use.store(pepper.get(), std::memory_order_release);
  if (pepper) all.push_back(std::move(pepper));
}

const key_pepper* pepper_in_use() noexcept { return in_use.load(std::memory_order_acquire); }

std::string kept_key(std::string_view key) {
  const auto* pepper = pepper_in_use();
  return pepper == nullptr ? std::string(key) : pepper->kept(key);
}

std::string key_to_find(std::string_view text) {
  return is_kept_form(text) ? std::string(text) : kept_key(text);
}

bool is_kept_form(std::string_view text) noexcept {
  return text.size() == kept_size && text.starts_with(kept_prefix) &&
         text.find_first_not_of(base64url_characters, kept_prefix.size()) == text.npos;
}

}  // namespace onceguard::core
