#include "audit/audited_resolve.hpp"

#include <utility>

namespace onceguard {
namespace {

audited_change change_of(std::string_view action, const resolution& request,
                         const std::optional<record_view>& before) {
  audited_change out;
  out.action = action;
  out.record = request.id;
  const auto& about = before ? before->stored.about : request.about;
  if (about) out.key = about->key;
  out.former = before ? name_of(before->state) : "unreadable";
  out.wanted = name_of(request.completed ? observed_state::completed : observed_state::released);
  if (request.force) out.about = "by force";
  return out;
}

}  // namespace

boost::asio::awaitable<audited_end> resolve_audited(record_access& records,
                                                    std::optional<record_view> before,
                                                    resolution change, audit_context context,
                                                    resolve_times times,
                                                    std::function<void()> report_wait) {
  const auto audited = change_of(context.action, change, before);
  audited_end out;
  if (const auto line = context.log.intend(context.author, audited); !line) {
    out.resolved = line.error();
    co_return out;
  }
  out.resolved = co_await resolve_surely(records, std::move(before), std::move(change), times,
                                         std::move(report_wait));
  const auto line =
      context.log.conclude(context.author, audited, std::string(outcome_text(out.resolved)));
  if (!line) out.unwritten = line.error();
  co_return out;
}

}  // namespace onceguard
