// The folder of a journal on a disk, and its files, by POSIX.
#pragma once
#include <memory>
#include <string>

#include "base/descriptor.hpp"
#include "base/unshared_descriptor.hpp"
#include "store/journal/file_layer.hpp"

namespace onceguard::journal {

/// What a folder was opened for.
enum class folder_use : std::uint8_t { owner, reader };

/// A file that root made must not lock the user out whose folder it is. Whoever may not give it
/// away keeps it, and that user's own open says so.
void give_to_owner(int file, int folder) noexcept;

class posix_folder final : public file_layer {
 public:
  /// `lock`: kept as long as the object lives.
  posix_folder(std::string path, base::descriptor opened, folder_use use,
               std::unique_ptr<base::unshared_descriptor> lock = nullptr)
      : path_(std::move(path)), opened_(std::move(opened)), use_(use), lock_(std::move(lock)) {}

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
  const base::descriptor opened_;
  const folder_use use_;
  const std::unique_ptr<base::unshared_descriptor> lock_;
};

}  // namespace onceguard::journal
