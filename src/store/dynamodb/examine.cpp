#include "store/dynamodb/examine.hpp"

#include "store/dynamodb/dynamodb_params.hpp"
#include "store/dynamodb/table/table_description.hpp"
#include "store/dynamodb/table/table_setup.hpp"

namespace onceguard::dynamodb {
namespace {

using base::diagnosis;
using grade = diagnosis::grade;

diagnosis examine_expiry(blocking_calls& calls, store_role role) {
  const auto id = diagnosis_id(role, "expiry");
  const auto status = expires_items(calls);
  if (!status) {
    return {grade::note, id,
            "whether DynamoDB removes expired items can't be read: " + status.error().detail,
            "permit dynamodb:DescribeTimeToLive"};
  }
  if (*status)
    return {grade::ok, id, "DynamoDB removes what has expired, by the attribute ttl", {}};
  return {grade::warning, id, "DynamoDB does not remove what has expired: the table grows",
          "run \"onceguard migrate\", or turn on its time to live with the attribute ttl"};
}

diagnosis examine_protection(const table_facts& facts, store_role role) {
  const auto id = diagnosis_id(role, "deletion");
  if (facts.protected_from_deletion) {
    return {grade::ok, id, "the table is protected from deletion", {}};
  }
  return {grade::note, id, "the table is not protected from deletion",
          "aws dynamodb update-table --table-name TABLE --deletion-protection-enabled"};
}

void examine_table(blocking_calls& calls, const base::clock& clock, store_role role,
                   base::diagnoses& out) {
  const auto sent = clock.wall_ms();
  const auto facts = describe_table(calls);
  if (!facts) return;  // a moment ago it could be read
  const auto round_trip = clock.wall_ms() - sent;
  if (facts->date) {
    // The header has whole seconds: on average it is half a second late.
    constexpr std::int64_t half_second = 500;
    out.push_back(diagnose_clock(role, *facts->date + half_second - sent - round_trip / 2,
                                 round_trip + half_second));
  }
  out.push_back(examine_expiry(calls, role));
  out.push_back(examine_protection(*facts, role));
}

}  // namespace

base::diagnoses examine(const store_params& params, store_role role) {
  const auto target = parse_address(params.url);
  if (!target) return {diagnose_refusal(role, target.error())};
  aws::credential_source credentials("Amazon DynamoDB");
  if (const auto found = credentials.current(); !found) {
    return {diagnose_refusal(role, found.error())};
  }
  if (const auto why = check_table(*target, credentials, params.timeout)) {
    return {diagnose_refusal(role, *why)};
  }
  base::diagnoses out{{grade::ok, diagnosis_id(role, "reach"), target->name() + ": in reach", {}},
                      {grade::ok,
                       diagnosis_id(role, "durability"),
                       "DynamoDB acknowledges nothing that one of its zones could lose",
                       {}}};
  blocking_calls calls(*target, credentials, params.timeout);
  examine_table(calls, *params.clock, role, out);
  return out;
}

}  // namespace onceguard::dynamodb
