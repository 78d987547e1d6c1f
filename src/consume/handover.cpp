#include "consume/handover.hpp"

#include <string>
#include <utility>
#include <vector>

#include "consume/message_id.hpp"

namespace onceguard::consume {
namespace {

result<std::unique_ptr<receiver>> target_of(const consume_params& params) {
  if (!params.endpoint) return make_command(params);
  std::vector<std::string> secrets;
  if (!params.secret_file.empty()) {
    auto read = read_signing_secrets(params.secret_file);
    if (!read) return read.error();
    secrets = std::move(*read);
  }
  return make_endpoint(params, std::move(secrets));
}

}  // namespace

result<message_handler> message_handler::make(const consume_params& params, guard& records) {
  auto target = target_of(params);
  if (!target) return target.error();
  return message_handler(params, records, std::move(*target));
}

message_handler::message_handler(const consume_params& params, guard& records,
                                 std::unique_ptr<receiver> target)
    : params_(params),
      records_(records),
      target_(std::move(target)),
      rules_(messaging::rules_of(params.inbox)) {}

result<inbox_outcome> message_handler::handle(const messaging::message& received,
                                              const std::string& id,
                                              messaging::earlier_attempts earlier) {
  if (id.empty()) {
    const auto none = id_of(params_.id, received);
    inbox_outcome out;
    out.kind = inbox_result::dead;
    out.reason = none ? "its id is empty" : none.error().detail;
    return out;
  }
  const auto work = [&](running& run) {
    return target_->take({&received, id, run.key_for("message"), run.attempt(), &run});
  };
  return messaging::process_guarded(records_, params_.subscriber, {id, received.payload},
                                    params_.inbox, rules_, work, earlier);
}

}  // namespace onceguard::consume
