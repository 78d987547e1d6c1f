// The listener of the decision service: whom the configuration lets in.
#include <fstream>

#include <gtest/gtest.h>

#include "config/load.hpp"
#include "config/remark_texts.hpp"

namespace onceguard::config {
namespace {

loaded read_serve(const std::string& options) {
  sources source;
  source.file = "c.toml";
  source.need_upstream = false;
  return load_text("[serve]\n" + options, source);
}

std::string faults_of(const std::string& options) {
  const auto read = read_serve(options);
  std::string out;
  for (const auto& one : read.remarks) {
    if (one.weight == remark::grade::fault) out += one.text() + "\n";
  }
  return out;
}

TEST(serve_listener, may_be_a_socket_or_this_machine_alone) {
  EXPECT_EQ(faults_of("listen = \"unix:/run/o.sock\"\n"), "");
  EXPECT_EQ(faults_of("listen = \"127.0.0.1:7070\"\n"), "");
  EXPECT_EQ(faults_of("listen = \"[::1]:7070\"\n"), "");
}

TEST(serve_listener, needs_tokens_and_tls_beyond_this_machine) {
  const std::string start =
      "c.toml:2:10: [serve] listen: 0.0.0.0:7070 can be reached from other "
      "machines, and needs ";
  EXPECT_EQ(faults_of("listen = \"0.0.0.0:7070\"\n"),
            start + "tls_certificate\n" + start + "token_file, or tls_client_ca\n");
  EXPECT_EQ(faults_of("listen = \"0.0.0.0:7070\"\ntoken_file = \"t\"\n"),
            start + "tls_certificate\n");
}

TEST(serve_listener, has_whole_tls_or_none) {
  EXPECT_EQ(faults_of("tls_key = \"k\"\n"),
            "c.toml:2:11: [serve] tls_key: only with tls_certificate\n");
  EXPECT_EQ(faults_of("tls_certificate = \"c\"\n"),
            "c.toml:2:19: [serve] tls_certificate: needs tls_key\n");
  EXPECT_EQ(faults_of("tls_certificate = \"/none/c\"\ntls_key = \"/none/k\"\n"),
            "c.toml:2:19: [serve] tls_certificate: /none/c: can't be read: No such file "
            "or directory\n");
}

TEST(serve_listener, says_that_a_socket_is_open_to_everybody) {
  EXPECT_EQ(read_serve("listen = \"unix:/run/o.sock\"\nmode = \"0660\"\n").values.serve.mode,
            0660U);
  const auto open = texts_of(read_serve("listen = \"unix:/run/o.sock\"\nmode = \"0666\"\n"));
  EXPECT_NE(open.find("[serve] mode: every user of this machine"), open.npos) << open;
  const auto unused = texts_of(read_serve("listen = \"127.0.0.1:1\"\nmode = \"0660\"\n"));
  EXPECT_NE(unused.find("[serve] mode: only for a Unix socket"), unused.npos) << unused;
  EXPECT_NE(faults_of("mode = \"rw\"\n"), "");
}

TEST(serve_options, change_at_the_next_start_but_for_its_rules) {
  const auto before = read_serve("listen = \"unix:/a\"\nmax_lease = \"1m\"\n");
  const auto after = read_serve("listen = \"unix:/b\"\nmax_lease = \"2m\"\ninline = [\"wait\"]\n");
  EXPECT_EQ(fixed_changes(before.values, after.values),
            (std::vector<std::string>{"[serve] listen"}));
}

}  // namespace
}  // namespace onceguard::config
