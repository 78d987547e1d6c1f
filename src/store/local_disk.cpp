#include "store/local_disk.hpp"

#include <sys/statvfs.h>
#include <sys/vfs.h>

namespace onceguard {
namespace {

constexpr std::int64_t mib = 1 << 20;

struct named_magic {
  std::uint32_t magic;
  std::string_view name;
};

// From statfs(2), and from the kernel's headers for the numbers that statfs(2) lacks.
constexpr named_magic refused[] = {
    {0x6969, "NFS"},        {0x517b, "SMB"},        {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB2"},   {0x65735546, "FUSE"},   {0x01021997, "9p"},
    {0x5346414f, "AFS"},    {0x6b414653, "AFS"},    {0x0bd00bd0, "Lustre"},
    {0x00c36400, "Ceph"},   {0x73757245, "Coda"},   {0x564c, "NCP"},
    {0x47504653, "GPFS"},   {0x01161970, "GFS2"},   {0x7461636f, "OCFS2"},
    {0x786f4256, "vboxsf"}, {0x19830326, "BeeGFS"}, {0x20030528, "OrangeFS"},
    {0xbacbacbc, "vmhgfs"}, {0x7c7c6673, "prl_fs"},
};

}  // namespace

std::string_view network_file_system(std::int64_t magic) noexcept {
  for (const auto& known : refused) {
    // Some platforms sign-extend the magic number.
    if (static_cast<std::uint32_t>(magic) == known.magic) return known.name;
  }
  return {};
}

std::string_view network_file_system_of(const std::string& path) noexcept {
  struct statfs system {};
  if (::statfs(path.c_str(), &system) != 0) return {};
  return network_file_system(static_cast<std::int64_t>(system.f_type));
}

disk_volume volume_of(const std::string& path) noexcept {
  struct statvfs about {};
  if (::statvfs(path.c_str(), &about) != 0) return {};
  const auto bytes = [&](fsblkcnt_t blocks) {
    return static_cast<std::int64_t>(blocks) * static_cast<std::int64_t>(about.f_frsize);
  };
  return {bytes(about.f_blocks), bytes(about.f_bavail)};
}

std::string size_text(std::int64_t bytes) {
  return bytes < 10 * mib ? std::to_string(bytes >> 10) + " KiB"
                          : std::to_string(bytes / mib) + " MiB";
}

}  // namespace onceguard
