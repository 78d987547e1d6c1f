#include <gtest/gtest.h>

#include "http/request_target.hpp"

namespace onceguard::http {
namespace {

TEST(lenient_path, has_many_spellings) {
  for (const auto* path :
       {"/hooks/stripe",      "/HOOKS/stripe",       "/hooks/stripe.json", "/hooks/stripe%20",
        "/hooks/%20stripe",   "/hooks/stripe.",      "/hooks/stripe/",     "/hooks//stripe",
        "//hooks/stripe",     "/hooks/stripe;a=b",   "/hooks;a/stripe",    "/hooks%2Fstripe",
        "/hooks%252Fstripe",  "/hooks%5Cstripe",     "/hooks/x/../stripe", "/hooks/./stripe",
        "/hooks/stripe/more", "/%48ooks/Stripe.XML", "/hooks/stripe%00",   "/hooks/stripe%0A"}) {
    EXPECT_TRUE(may_be_read_as(path, "/hooks/stripe")) << path;
  }
  EXPECT_TRUE(may_be_read_as("/hooks/STRIPE", "/Hooks/Stripe"));
}

TEST(lenient_path, of_another_resource_is_another) {
  for (const auto* path : {"/", "/hooks", "/hooks/stripes", "/hooks/strip", "/hook/stripe",
                           "/api/hooks/stripe", "/hooks/stripe/../other", "/hooks-stripe"}) {
    EXPECT_FALSE(may_be_read_as(path, "/hooks/stripe")) << path;
  }
}

}  // namespace
}  // namespace onceguard::http
