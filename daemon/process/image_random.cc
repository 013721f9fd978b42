#include "daemon/process/image_random.h"

#include <elf.h>

#include <cstring>

#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

constexpr size_t kMaxAuxvBytes = 4096;

absl::StatusOr<std::optional<RemoteAddr>> AddressOfRandom(const TargetProcess& process) {
  SB_ASSIGN_OR_RETURN(const std::string auxv, process.ReadProcFile("auxv", kMaxAuxvBytes));
  const std::optional<uint64_t> addr = AuxiliaryValue(auxv, AT_RANDOM);
  return addr ? std::optional(RemoteAddr{*addr}) : std::nullopt;
}

}  // namespace

std::optional<uint64_t> AuxiliaryValue(std::string_view auxv, uint64_t type) {
  Elf64_auxv_t entry;
  for (; auxv.size() >= sizeof(entry); auxv.remove_prefix(sizeof(entry))) {
    std::memcpy(&entry, auxv.data(), sizeof(entry));
    if (entry.a_type == AT_NULL) break;
    if (entry.a_type == type) return entry.a_un.a_val;
  }
  return std::nullopt;
}

absl::StatusOr<ImageRandom> ReadImageRandom(const TargetProcess& process,
                                            const MemoryReader& memory) {
  SB_ASSIGN_OR_RETURN(const std::optional<RemoteAddr> addr, AddressOfRandom(process));
  ImageRandom random{.addr = addr.value_or(RemoteAddr{0})};
  const auto bytes = memory.ReadValue<ImageBytes>(random.addr);
  if (!addr || !bytes.ok()) {
    return absl::FailedPreconditionError(
        StrCat("pid ", process.pid(),
               ": the random bytes of its program (AT_RANDOM) cannot be read, by which it is told "
               "from the next one (it has just called exec?); try again"));
  }
  random.bytes = *bytes;
  return random;
}

absl::StatusOr<bool> HasImage(const TargetProcess& process, const MemoryReader& memory,
                              const ImageRandom& image) {
  SB_ASSIGN_OR_RETURN(const std::optional<RemoteAddr> addr, AddressOfRandom(process));
  if (addr != image.addr) return false;
  const auto bytes = memory.ReadValue<ImageBytes>(image.addr);
  return bytes.ok() && *bytes == image.bytes;
}

bool RunsAnotherImage(const TargetProcess& process, const MemoryReader& memory, RemoteAddr addr) {
  const auto differs = [&] {
    const auto bytes = memory.ReadValue<ImageBytes>(addr);
    if (!bytes.ok()) return false;
    const auto now = RemoteMemory::Open(process.proc_dirfd(), process.pid());
    if (!now.ok()) return false;
    const auto bytes_now = now->ReadValue<ImageBytes>(addr);
    return !absl::IsNotFound(bytes_now.status()) && (!bytes_now.ok() || *bytes_now != *bytes);
  };
  return differs() && differs();
}

}  // namespace sbump
