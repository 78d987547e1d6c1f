#include "webhook/public_key.hpp"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "base/hash.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::webhook {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class public_keys : public ::testing::Test {
 protected:
  void openssl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "/usr/bin/openssl");
    testing::run_program({}, arguments, folder_.file("log"));
  }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(file(name), std::ios::binary) << text;
  }
  void make_key(const std::string& name, const std::string& bits = "2048") {
    openssl({"genrsa", "-out", file(name + ".key"), bits});
    openssl({"rsa", "-in", file(name + ".key"), "-pubout", "-out", file(name + ".pub")});
  }
  std::string sign(const std::string& name, std::string_view text) {
    write("text", text);
    openssl(
        {"dgst", "-sha256", "-sign", file(name + ".key"), "-out", file("signature"), file("text")});
    return text_of(file("signature"));
  }
  [[nodiscard]] std::string fault_of(const std::string& name) const {
    const auto read = read_public_keys(file(name));
    return read ? "" : read.error().detail.substr(folder_.path().string().size() + 1);
  }

  testing::temporary_folder folder_;
};

TEST_F(public_keys, verify_what_their_private_key_signed) {
  make_key("a");
  make_key("b");
  const auto signature = sign("a", "a text");
  write("both", text_of(file("b.pub")) + "a comment\n" + text_of(file("a.pub")));
  const auto keys = read_public_keys(file("both"));
  ASSERT_TRUE(keys) << keys.error().detail;
  ASSERT_EQ(keys->size(), 2U);
  EXPECT_FALSE(keys->at(0).verifies(signature, base::sha256_of("a text"), 0));
  EXPECT_TRUE(keys->at(1).verifies(signature, base::sha256_of("a text"), 0));
  EXPECT_FALSE(keys->at(1).verifies(signature, base::sha256_of("another"), 0));
  EXPECT_FALSE(keys->at(1).verifies("", base::sha256_of("a text"), 0));
  EXPECT_FALSE(keys->at(1).verifies(signature.substr(1), base::sha256_of("a text"), 0));
  EXPECT_FALSE(keys->at(1).verifies(signature + "a", base::sha256_of("a text"), 0));
}

TEST_F(public_keys, of_a_certificate_are_good_until_it_ends) {
  make_key("a");
  openssl({"req", "-x509", "-new", "-key", file("a.key"), "-subj", "/CN=sender", "-days", "2",
           "-out", file("a.pem")});
  const auto keys = read_public_keys(file("a.pem"));
  ASSERT_TRUE(keys) << keys.error().detail;
  const auto signature = sign("a", "x");
  constexpr std::int64_t day = 86'400;
  const std::int64_t now = std::time(nullptr);
  EXPECT_TRUE(keys->at(0).verifies(signature, base::sha256_of("x"), now));
  EXPECT_TRUE(keys->at(0).verifies(signature, base::sha256_of("x"), now + day));
  EXPECT_FALSE(keys->at(0).verifies(signature, base::sha256_of("x"), now + 3 * day));
}

TEST_F(public_keys, are_refused_if_they_can_not_be_used) {
  make_key("small", "1024");
  openssl({"ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", file("ec.key")});
  openssl({"ec", "-in", file("ec.key"), "-pubout", "-out", file("ec.pub")});
  write("empty", "");
  write("prose", "no key at all\n");
  write("broken", "-----BEGIN PUBLIC KEY-----\nAAAA\n");
  write("wrong", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n");
  EXPECT_EQ(fault_of("none"), "none: can't be read: No such file or directory");
  EXPECT_EQ(fault_of("empty"), "empty: holds no public key and no certificate");
  EXPECT_EQ(fault_of("prose"), "prose: holds no public key and no certificate");
  EXPECT_EQ(fault_of("broken"), "broken: a block of PEM is damaged");
  EXPECT_EQ(fault_of("wrong"), "wrong: a PUBLIC KEY that can't be decoded");
  EXPECT_EQ(fault_of("small.pub"), "small.pub: a PUBLIC KEY of fewer than 2048 bits");
  EXPECT_EQ(fault_of("ec.pub"), "ec.pub: a PUBLIC KEY that is not for RSA");
  EXPECT_EQ(fault_of("small.key"),
            "small.key: expected PUBLIC KEY and CERTIFICATE, got \"PRIVATE KEY\"");
}

}  // namespace
}  // namespace onceguard::webhook
