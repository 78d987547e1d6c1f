#include "core/field_kinds.hpp"

#include "base/name_list.hpp"
#include "base/name_memo.hpp"

namespace onceguard::core {
namespace {

/// These stand anywhere in a name: each vendor has its own spelling around them.
constexpr base::name_list account_parts{"tenant",          "account",       "merchant",
                                        "impersonate",     "organization",  "organisation",
                                        "subscription-id", "subscriptionid"};
/// These are a whole word of a name, as they are a part of other words, too.
constexpr base::name_list account_words{
    "store",       "stores",   "storeid", "shop",      "shopid",     "org",
    "orgid",       "orgs",     "company", "companyid", "workspace",  "project",
    "projectid",   "customer", "partner", "seller",    "vendor",     "realm",
    "workspaceid", "onbehalf", "behalf",  "subuser",   "customerid", "projects",
    "team",        "teams",    "teamid",  "namespace", "namespaces", "namespaceid",
    "site",        "sites",    "siteid",  "shops",     "realmid",    "brand",
    "brandid",     "business", "space",   "spaceid",   "enterprise", "marketplace"};
constexpr base::name_list account_names{
    "x-client-id",    "client-id", "x-clientid", "clientid",         "x-user-id",
    "user-id",        "x-userid",  "userid",     "x-forwarded-host", "x-original-host",
    "x-host",         "x-act-as",  "act-as",     "x-sudo",           "sudo",
    "stripe-context", "xorgid",    "x-user",     "x-username"};

constexpr base::name_list operation_parts{"dry-run"};
constexpr base::name_list operation_words{"soapaction", "dryrun",   "simulate",     "simulation",
                                          "sandbox",    "testmode", "validateonly", "override"};
/// `X-Operation-Id` has another value at each try, so these words count only where they stand
/// alone.
constexpr base::name_list operation_names{
    "x-amz-target", "x-method",      "x-dry",         "x-original-url",  "x-rewrite-url",
    "x-test-mode",  "x-http-method", "validate-only", "x-validate-only", "x-action",
    "x-operation",  "action",        "operation"};

/// The end of a name says what the value is, whatever stands before: X-Tenant-Request-Id numbers a
/// request, and no tenant. Some are written as one word.
constexpr base::name_list try_ends{"request-id",
                                   "requestid",
                                   "req-id",
                                   "reqid",
                                   "trace-id",
                                   "traceid",
                                   "span-id",
                                   "spanid",
                                   "correlation-id",
                                   "correlationid",
                                   "nonce",
                                   "attempt",
                                   "attempts",
                                   "attempt-id",
                                   "attempt-count",
                                   "attempt-number",
                                   "attempt-no",
                                   "retry",
                                   "retries",
                                   "retry-count",
                                   "retry-number",
                                   "request-start",
                                   "request-start-time",
                                   "timestamp"};

/// What browsers say about a fetch is no word of the application.
constexpr base::name_list browser_parts{"sec-", "access-control-"};

bool never_counts(std::string_view name) noexcept {
  return browser_parts.begin(name) || try_ends.end(name);
}

bool is_account(std::string_view name) noexcept {
  return account_parts.stand_in(name) || account_words.are_word_of(name) ||
         account_names.holds(name);
}

bool is_operation(std::string_view name) noexcept {
  return operation_parts.stand_in(name) || operation_words.are_word_of(name) ||
         operation_names.holds(name);
}

struct field_kind {
  bool marks_a_try = false;
  bool names_account = false;
  bool names_operation = false;
};

field_kind kind_of(std::string_view name) noexcept {
  thread_local base::name_memo<field_kind> memo;
  return memo.find(name, [](std::string_view unknown) {
    const bool counts = !never_counts(unknown);
    return field_kind{.marks_a_try = try_ends.end(unknown),
                      .names_account = counts && is_account(unknown),
                      .names_operation = counts && is_operation(unknown)};
  });
}

}  // namespace

bool marks_a_try(std::string_view name) noexcept { return kind_of(name).marks_a_try; }

bool names_account(std::string_view name) noexcept { return kind_of(name).names_account; }

bool names_operation(std::string_view name) noexcept { return kind_of(name).names_operation; }

}  // namespace onceguard::core
