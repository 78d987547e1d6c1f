// Which routes require a key, and which spellings lead around them.
#include "http/route_table.hpp"

#include <gtest/gtest.h>

namespace onceguard::http {
namespace {

struct entry {
  route rule;
};

route requiring(std::string host, std::string path) {
  route out;
  out.host = std::move(host);
  out.path = std::move(path);
  out.policy.required = true;
  return out;
}

TEST(required_keys, are_those_of_guarded_methods_on_routes_that_guard) {
  auto rule = requiring("", "/");
  EXPECT_TRUE(requires_key(rule, "POST"));
  EXPECT_FALSE(requires_key(rule, "GET"));
  rule.policy.observe = true;
  EXPECT_FALSE(requires_key(rule, "POST")) << "what is only observed is never refused";
}

TEST(required_keys, no_spelling_of_host_or_path_leads_around_them) {
  route open;
  open.path = "/";
  const route_table<entry> table({{requiring("pay.test", "/v1")}, {open}});
  const auto leads_around = [&](std::string_view host, std::string_view path) {
    return table.leads_around_a_key(table.match(host, path, "POST"), host, path, "POST");
  };
  EXPECT_FALSE(leads_around("pay.test", "/v1"));
  EXPECT_FALSE(leads_around("pay.test:8080", "/other"));
  EXPECT_FALSE(leads_around("other.test.", "/v1"));
  for (const auto* host : {"pay.test.", "pay.test.:8080", "pay.test..", "PAY.TEST."}) {
    EXPECT_TRUE(leads_around(host, "/v1")) << host;
  }
  for (const auto* path : {"/v1%2Fa", "//v1", "/v1;a", "/x/..%2fv1"}) {
    EXPECT_TRUE(leads_around("pay.test", path)) << path;
  }
}

}  // namespace
}  // namespace onceguard::http
