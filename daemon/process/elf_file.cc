#include "daemon/process/elf_file.h"

#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "daemon/process/code_pointers.h"
#include "daemon/process/dynamic_section.h"
#include "daemon/process/elf_image.h"
#include "daemon/process/frame_table.h"
#include "daemon/process/import_slots.h"
#include "daemon/process/load_bias.h"
#include "daemon/process/symbol_table.h"

namespace sbump {
namespace {

constexpr size_t kMaxProgramHeaders = 256;
constexpr uint64_t kMaxNoteBytes = 1 << 20;
constexpr size_t kMaxBuildIdBytes = 64;

struct ElfCloser {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfCloser>;

struct ProgramHeaders {
  std::vector<ElfSegment> loads;
  GElf_Phdr dynamic = {};
  GElf_Phdr frames = {};
  std::vector<GElf_Phdr> notes;
};

absl::Status Unsupported(const std::string& name, const std::string& found) {
  return absl::UnimplementedError(
      absl::StrCat(name, ": is ", found, "; sbump reads 64-bit x86-64 programs and libraries"));
}

absl::StatusOr<uint64_t> CheckedFileBytes(int fd, const std::string& name) {
  struct stat st;
  if (fstat(fd, &st) != 0) return ErrnoStatus(errno, absl::StrCat(name, ": fstat"));
  if (!S_ISREG(st.st_mode)) return Unsupported(name, "not a regular file");
  return static_cast<uint64_t>(st.st_size);
}

absl::StatusOr<GElf_Ehdr> CheckedHeader(Elf* elf, const std::string& name) {
  if (elf == nullptr || elf_kind(elf) != ELF_K_ELF) return Unsupported(name, "not an ELF file");
  if (gelf_getclass(elf) != ELFCLASS64) return Unsupported(name, "a 32-bit ELF file");
  GElf_Ehdr header;
  if (gelf_getehdr(elf, &header) == nullptr) {
    return absl::DataLossError(absl::StrCat(name, ": ELF header: ", elf_errmsg(-1)));
  }
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) return Unsupported(name, "a big-endian ELF file");
  if (header.e_machine != EM_X86_64) {
    return Unsupported(name, absl::StrCat("an ELF file for machine ", header.e_machine));
  }
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) {
    return Unsupported(name, absl::StrCat("an ELF file of type ", header.e_type,
                                          " (neither program nor library)"));
  }
  return header;
}

ElfSegment ToSegment(const GElf_Phdr& header) {
  return {.vaddr = header.p_vaddr,
          .file_offset = header.p_offset,
          .file_size = header.p_filesz,
          .memory_size = header.p_memsz,
          .readable = (header.p_flags & PF_R) != 0,
          .writable = (header.p_flags & PF_W) != 0,
          .executable = (header.p_flags & PF_X) != 0};
}

absl::StatusOr<ProgramHeaders> ReadProgramHeaders(Elf* elf, const std::string& name) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0 || count > kMaxProgramHeaders) {
    return absl::DataLossError(absl::StrCat(name, ": not a sound ELF file: ", count,
                                            " program headers (libelf: ", elf_errmsg(-1), ")"));
  }
  ProgramHeaders found;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) {
      return absl::DataLossError(absl::StrCat(name, ": program header ", i, ": ", elf_errmsg(-1)));
    }
    if (header.p_type == PT_LOAD) found.loads.push_back(ToSegment(header));
    if (header.p_type == PT_DYNAMIC) found.dynamic = header;
    if (header.p_type == PT_GNU_EH_FRAME) found.frames = header;
    if (header.p_type == PT_NOTE) found.notes.push_back(header);
  }
  return found;
}

std::string BuildIdIn(Elf_Data* notes) {
  size_t offset = 0;
  GElf_Nhdr note;
  size_t name_at = 0;
  size_t value_at = 0;
  while (notes != nullptr &&
         (offset = gelf_getnote(notes, offset, &note, &name_at, &value_at)) > 0) {
    const auto* bytes = static_cast<const char*>(notes->d_buf);
    if (note.n_type != NT_GNU_BUILD_ID || note.n_descsz > kMaxBuildIdBytes) continue;
    if (std::string_view(bytes + name_at, note.n_namesz) != std::string_view("GNU\0", 4)) continue;
    return absl::BytesToHexString(std::string(bytes + value_at, note.n_descsz));
  }
  return "";
}

std::string ReadBuildId(Elf* elf, const std::vector<GElf_Phdr>& notes) {
  for (const GElf_Phdr& header : notes) {
    if (header.p_filesz > kMaxNoteBytes) continue;
    const Elf_Type type = header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
    std::string id = BuildIdIn(
        elf_getdata_rawchunk(elf, static_cast<int64_t>(header.p_offset), header.p_filesz, type));
    if (!id.empty()) return id;
  }
  return "";
}

}  // namespace

// Everything is read once, in Open(), but for the data of large files: afterwards there is no
// libelf state and no mapping of the file (which its truncation would turn into SIGBUS), so a const
// ElfFile may be shared between threads.
struct ElfFile::Impl {
  std::string name;
  std::string build_id;
  bool position_independent = false;
  ElfImage image;
  DynamicSection dynamic;
  SymbolTable symbols;
  uint64_t frame_header = 0;  // vaddr; 0: none
};

absl::StatusOr<ElfFile> ElfFile::Open(Fd file, std::string name) {
  if (elf_version(EV_CURRENT) == EV_NONE) return absl::InternalError("libelf: version mismatch");
  SB_ASSIGN_OR_RETURN(const uint64_t file_bytes, CheckedFileBytes(file.get(), name));
  const ElfHandle elf(elf_begin(file.get(), ELF_C_READ, nullptr));
  SB_ASSIGN_OR_RETURN(const GElf_Ehdr header, CheckedHeader(elf.get(), name));
  SB_ASSIGN_OR_RETURN(ProgramHeaders programs, ReadProgramHeaders(elf.get(), name));

  auto impl = std::make_unique<Impl>();
  SB_ASSIGN_OR_RETURN(impl->image,
                      ElfImage::Load(file.get(), file_bytes, std::move(programs.loads), name));
  impl->position_independent = header.e_type == ET_DYN;
  impl->build_id = ReadBuildId(elf.get(), programs.notes);
  impl->dynamic =
      ReadDynamicSection(impl->image, programs.dynamic.p_vaddr, programs.dynamic.p_filesz);
  impl->symbols.AddDynamic(impl->image, impl->dynamic);
  impl->symbols.AddStatic(elf.get());
  impl->frame_header = programs.frames.p_vaddr;
  impl->name = std::move(name);
  return ElfFile(std::move(impl));
}

ElfFile::ElfFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ElfFile::ElfFile(ElfFile&&) noexcept = default;
ElfFile& ElfFile::operator=(ElfFile&&) noexcept = default;
ElfFile::~ElfFile() = default;

const std::string& ElfFile::name() const { return impl_->name; }
const std::string& ElfFile::build_id() const { return impl_->build_id; }
bool ElfFile::position_independent() const { return impl_->position_independent; }
std::span<const ElfSegment> ElfFile::segments() const { return impl_->image.segments(); }

std::optional<ElfSymbol> ElfFile::FindSymbol(std::string_view symbol) const {
  return impl_->symbols.Find(symbol);
}

void ElfFile::ForEachSymbol(const std::function<void(const ElfSymbolEntry&)>& visit) const {
  impl_->symbols.ForEach(visit);
}

void ElfFile::ForEachImportSlot(const std::function<void(const ElfImportSlot&)>& visit) const {
  VisitImportSlots(impl_->image, impl_->dynamic, visit);
}

std::optional<CodeRange> ElfFile::FrameAt(uint64_t vaddr) const {
  return FindFrame(impl_->image, impl_->frame_header, vaddr);
}

absl::StatusOr<std::span<const std::byte>> ElfFile::BytesAt(uint64_t vaddr, uint64_t size) const {
  const auto bytes = BytesFrom(vaddr, size);
  if (bytes.size() == size && !bytes.empty()) return bytes;
  return absl::OutOfRangeError(absl::StrCat(name(), ": no ", size, " bytes at address 0x",
                                            absl::Hex(vaddr), " in one segment of the file"));
}

std::span<const std::byte> ElfFile::BytesFrom(uint64_t vaddr, uint64_t max_size) const {
  return impl_->image.BytesFrom(vaddr, max_size);
}

bool ElfFile::was_unreadable() const { return impl_->image.was_unreadable(); }

bool ElfFile::IsExecutable(uint64_t vaddr) const { return impl_->image.IsExecutable(vaddr); }

absl::StatusOr<uint64_t> ElfFile::FileOffset(uint64_t vaddr) const {
  if (const auto offset = impl_->image.FileOffset(vaddr)) return *offset;
  return absl::OutOfRangeError(
      absl::StrCat(name(), ": address 0x", absl::Hex(vaddr), " is not in the file"));
}

std::vector<ElfFile::CodePointer> ElfFile::CodePointers() const {
  return position_independent() ? RelocatedCodePointers(impl_->image, impl_->dynamic)
                                : FixedCodePointers(impl_->image);
}

absl::StatusOr<uint64_t> ElfFile::LoadBias(std::span<const Mapping> mappings_of_this_file) const {
  return FindLoadBias(segments(), position_independent(), mappings_of_this_file, name());
}

}  // namespace sbump
