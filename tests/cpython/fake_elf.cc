#include "tests/cpython/fake_elf.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sbump {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMaxText = 1 << 20;
constexpr uint8_t kRet = 0xC3;

template <typename T>
void Append(std::vector<uint8_t>& to, const T& value) {
  const size_t at = to.size();
  to.resize(at + sizeof value);
  std::memcpy(to.data() + at, &value, sizeof value);
}

void Pad(std::vector<uint8_t>& bytes, uint64_t multiple) {
  while (bytes.size() % multiple != 0) bytes.push_back(0);
}

void Append(std::vector<uint8_t>& to, const std::vector<uint8_t>& bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

Elf64_Phdr Load(uint64_t offset, uint64_t vaddr, uint64_t size, uint32_t flags) {
  return {.p_type = PT_LOAD,
          .p_flags = flags,
          .p_offset = offset,
          .p_vaddr = vaddr,
          .p_paddr = vaddr,
          .p_filesz = size,
          .p_memsz = size,
          .p_align = kPage};
}

Elf64_Ehdr Header(uint64_t sections_offset) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_shoff = sections_offset;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  return header;
}

}  // namespace

void FakeElf::PutCode(uint64_t vaddr, const std::vector<uint8_t>& bytes) {
  const uint64_t at = vaddr - kText;
  if (vaddr < kText || at + bytes.size() > kMaxText) std::abort();
  text_.resize(std::max<size_t>(text_.size(), at + bytes.size()), kRet);
  std::ranges::copy(bytes, text_.begin() + static_cast<std::ptrdiff_t>(at));
}

uint64_t FakeElf::AddWord(uint64_t word) {
  Pad(data_, sizeof word);
  Append(data_, word);
  return kData + data_.size() - sizeof word;
}

uint64_t FakeElf::AddString(std::string_view text) {
  const uint64_t vaddr = kData + data_.size();
  data_.insert(data_.end(), text.begin(), text.end());
  data_.push_back(0);
  return vaddr;
}

void FakeElf::AddSymbol(std::string name, uint64_t vaddr, uint64_t size) {
  symbols_.push_back({std::move(name), vaddr, size});
}

std::vector<uint8_t> FakeElf::Image() const {
  std::vector<uint8_t> image(kPage);
  const uint64_t text_at = image.size();
  Append(image, text_);
  image.push_back(kRet);  // never empty
  Pad(image, kPage);
  const uint64_t data_at = image.size();
  Append(image, data_);
  Append(image, uint64_t{0});

  std::vector<uint8_t> strings(1);
  std::vector<uint8_t> table(sizeof(Elf64_Sym));
  for (const Symbol& symbol : symbols_) {
    Append(table, Elf64_Sym{.st_name = static_cast<uint32_t>(strings.size()),
                            .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                            .st_shndx = SHN_ABS,
                            .st_value = symbol.vaddr,
                            .st_size = symbol.size});
    strings.insert(strings.end(), symbol.name.begin(), symbol.name.end());
    strings.push_back(0);
  }
  Pad(image, sizeof(uint64_t));
  const uint64_t table_at = image.size();
  Append(image, table);
  const uint64_t strings_at = image.size();
  Append(image, strings);
  Pad(image, sizeof(uint64_t));

  const Elf64_Ehdr header = Header(image.size());
  Append(image, Elf64_Shdr{});
  Append(image, Elf64_Shdr{.sh_type = SHT_SYMTAB,
                           .sh_offset = table_at,
                           .sh_size = table.size(),
                           .sh_link = 2,
                           .sh_addralign = 8,
                           .sh_entsize = sizeof(Elf64_Sym)});
  Append(image, Elf64_Shdr{.sh_type = SHT_STRTAB,
                           .sh_offset = strings_at,
                           .sh_size = strings.size(),
                           .sh_addralign = 1});

  std::vector<uint8_t> front;
  Append(front, header);
  Append(front, Load(text_at, kText, text_.size() + 1, PF_R | PF_X));
  Append(front, Load(data_at, kData, data_.size() + sizeof(uint64_t), PF_R | PF_W));
  std::ranges::copy(front, image.begin());
  return image;
}

absl::StatusOr<ElfFile> FakeElf::Open() const {
  const std::vector<uint8_t> image = Image();
  Fd file(memfd_create("fake_elf", MFD_CLOEXEC));
  if (write(file.get(), image.data(), image.size()) != static_cast<ssize_t>(image.size())) {
    return ErrnoStatus(errno, "write of the fake ELF file");
  }
  return ElfFile::Open(std::move(file), "fake");
}

std::vector<uint8_t> Hex(std::string_view text) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < text.size();) {
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    bytes.push_back(
        static_cast<uint8_t>(std::strtoul(std::string(text.substr(i, 2)).c_str(), nullptr, 16)));
    i += 2;
  }
  return bytes;
}

}  // namespace sbump
