#include "webhook/public_key.hpp"

#include <ctime>
#include <limits>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "base/file_text.hpp"
#include "base/unique_handle.hpp"
#include "base/value_text.hpp"

namespace onceguard::webhook {

namespace {

constexpr int bits_min = 2048;
constexpr std::size_t file_size_max = 1u << 20;

/// A block of a PEM file, between its BEGIN and END.
struct pem_block {
  std::string title;
  std::string bytes;
};

result<std::vector<pem_block>> blocks_of(const std::string& text) {
  const base::unique_handle<BIO, BIO_free> memory(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  std::vector<pem_block> out;
  char* title = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;
  ERR_clear_error();
  while (PEM_read_bio(memory.get(), &title, &header, &data, &size) == 1) {
    out.push_back({title, {reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)}});
    OPENSSL_free(title);
    OPENSSL_free(header);
    OPENSSL_free(data);
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!at_end) return error(errc::invalid_argument, "a block of PEM is damaged");
  return out;
}

std::int64_t end_of(const X509& certificate) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(&certificate), &parts) != 1) return 0;
  return timegm(&parts);
}

/// The key in a block; null: none is there.
result<public_key> key_of(const pem_block& block) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(block.bytes.data());
  const auto size = static_cast<long>(block.bytes.size());
  EVP_PKEY* key = nullptr;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  if (block.title == PEM_STRING_PUBLIC) {
    key = d2i_PUBKEY(nullptr, &bytes, size);
  } else if (block.title == PEM_STRING_X509) {
    const base::unique_handle<X509, X509_free> certificate(d2i_X509(nullptr, &bytes, size));
    if (certificate) {
      key = X509_get_pubkey(certificate.get());
      end = end_of(*certificate);
    }
  } else {
    return error(errc::invalid_argument,
                 "expected PUBLIC KEY and CERTIFICATE, got " + base::quoted(block.title));
  }
  ERR_clear_error();
  if (key == nullptr) {
    return error(errc::invalid_argument, "a " + block.title + " that can't be decoded");
  }
  std::shared_ptr<EVP_PKEY> owned(key, EVP_PKEY_free);
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA) {
    return error(errc::invalid_argument, "a " + block.title + " that is not for RSA");
  }
  if (EVP_PKEY_get_bits(key) < bits_min) {
    return error(errc::invalid_argument, "a " + block.title + " of fewer than 2048 bits");
  }
  return public_key(std::move(owned), end);
}

}  // namespace

bool public_key::verifies(std::string_view signature, const digest& hash, std::int64_t now) const {
  if (now > end_) return false;
  const base::unique_handle<EVP_PKEY_CTX, EVP_PKEY_CTX_free> context(
      EVP_PKEY_CTX_new(key_.get(), nullptr));
  const bool good =
      context && EVP_PKEY_verify_init(context.get()) == 1 &&
      EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_PADDING) == 1 &&
      EVP_PKEY_CTX_set_signature_md(context.get(), EVP_sha256()) == 1 &&
      EVP_PKEY_verify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                      signature.size(), hash.data(), hash.size()) == 1;
  if (!good) ERR_clear_error();  // or another call of this thread would find it
  return good;
}

result<std::vector<public_key>> read_public_keys(const std::string& path) {
  const auto text = base::read_file(path, file_size_max);
  if (!text) return error(errc::invalid_argument, path + ": " + text.error().detail);
  const auto blocks = blocks_of(*text);
  if (!blocks) return error(errc::invalid_argument, path + ": " + blocks.error().detail);
  if (blocks->empty()) {
    return error(errc::invalid_argument, path + ": holds no public key and no certificate");
  }
  std::vector<public_key> out;
  for (const auto& block : *blocks) {
    auto key = key_of(block);
    if (!key) return error(errc::invalid_argument, path + ": " + key.error().detail);
    out.push_back(*std::move(key));
  }
  return out;
}

}  // namespace onceguard::webhook
