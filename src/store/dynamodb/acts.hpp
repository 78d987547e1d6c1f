// The calls about one record.
#pragma once
#include <onceguard/store.hpp>

#include "store/dynamodb/act.hpp"

namespace onceguard::dynamodb {

class claim_act final : public act_of<claim, verdict> {
 public:
  using act_of::act_of;
  [[nodiscard]] std::optional<request> begin() override;

 private:
  [[nodiscard]] std::optional<request> decide_on(const reading& seen) override;
  [[nodiscard]] std::optional<request> written() override;
  verdict verdict_;  // once the record is written
};

class settle_act final : public act_of<settlement, settled> {
 public:
  using act_of::act_of;
  [[nodiscard]] std::optional<request> begin() override;

 private:
  [[nodiscard]] std::optional<request> decide_on(const reading& seen) override;
  [[nodiscard]] std::optional<request> written() override { return end(std::move(settled_)); }
  settled settled_;
};

class extend_act final : public act_of<extension, bool> {
 public:
  using act_of::act_of;
  [[nodiscard]] std::optional<request> begin() override;

 private:
  [[nodiscard]] std::optional<request> decide_on(const reading& seen) override;
  [[nodiscard]] std::optional<request> written() override;
  [[nodiscard]] bool needs_answer() const override { return false; }
};

class resolve_act final : public act_of<resolution, resolve_decision> {
 public:
  using act_of::act_of;
  [[nodiscard]] std::optional<request> begin() override;

 private:
  [[nodiscard]] std::optional<request> decide_on(const reading& seen) override;
  [[nodiscard]] std::optional<request> meet_unreadable(const reading& seen) override;
  [[nodiscard]] std::optional<request> carry_out(const reading& seen, resolve_decision decided);
  [[nodiscard]] std::optional<request> written() override { return end(std::move(decided_)); }
  resolve_decision decided_;
};

struct import_item : imported_record {};
class import_act final : public act_of<import_item, import_outcome> {
 public:
  using act_of::act_of;
  [[nodiscard]] std::optional<request> begin() override;

 private:
  [[nodiscard]] std::optional<request> decide_on(const reading& seen) override;
  [[nodiscard]] std::optional<request> written() override { return end(import_outcome::imported); }
};

struct question {
  record_id id{};
};
class find_act final : public act_of<question, std::optional<record_view>> {
 public:
  using act_of::act_of;

 private:
  [[nodiscard]] std::optional<request> decide_on(const reading& seen) override;
  [[nodiscard]] std::optional<request> written() override { return std::nullopt; }
};

}  // namespace onceguard::dynamodb
