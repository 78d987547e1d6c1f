// The folder of a journal on a disk, and its files, by POSIX.
#pragma once
#include <string>

#include "base/descriptor.hpp"
#include "store/journal/file_layer.hpp"

namespace onceguard::journal {

/// What a folder was opened for.
enum class folder_use : std::uint8_t { owner, reader };

/// A file that root made must not lock the user out whose folder it is. Whoever may not give it
/// away keeps it, and that user's own open says so.
void give_to_owner(int file, int folder) noexcept;

class posix_folder final : public file_layer {
 public:
  posix_folder(std::string path, base::descriptor opened, folder_use use)
      : path_(std::move(path)), opened_(std::move(opened)), use_(use) {}

  [[nodiscard]] result<std::unique_ptr<file>> open(const std::string& name,
                                                   open_file mode) override;
  [[nodiscard]] result<std::vector<std::string>> list() override;
  [[nodiscard]] result<void> rename(const std::string& former, const std::string& target) override;
  [[nodiscard]] result<void> remove(const std::string& name) override;
  [[nodiscard]] result<void> flush_names() override;
  [[nodiscard]] result<bool> still_there(const std::string& name,
                                         const file& opened) const override;
  [[nodiscard]] const std::string& location() const noexcept override { return path_; }

 private:
  const std::string path_;
  const base::descriptor opened_;  // with the lock of the owner
  const folder_use use_;
};

}  // namespace onceguard::journal
