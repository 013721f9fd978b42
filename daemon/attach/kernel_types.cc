#include "daemon/attach/kernel_types.h"

#include <bpf/btf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "daemon/base/fd.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Those of bpf/kernel.h that an access begins at.
constexpr const char* kStructs[] = {"task_struct", "signal_struct", "pid", "upid", "pid_namespace"};

struct Freer {
  void operator()(btf* types) const { btf__free(types); }
};
using Types = std::unique_ptr<btf, Freer>;

// Copies types with all that they hold by value. What CO-RE does not look at is left out: names of
// typedefs, qualifiers, what pointers point to, the names of an enumeration's values.
class Copier {
 public:
  Copier(const btf* from, btf* to) : from_(from), to_(to) {}

  // The number of the copy; negative where there is none.
  int Copy(uint32_t id) {
    if (const auto known = copies_.find(id); known != copies_.end()) return known->second;
    const btf_type* type = btf__type_by_id(from_, id);
    const int copy = type == nullptr ? -1 : CopyNew(id, type);
    copies_[id] = copy;
    return copy;
  }

 private:
  int CopyNew(uint32_t id, const btf_type* type) {
    if (btf_is_mod(type) || btf_is_typedef(type)) return Copy(type->type);
    if (btf_is_ptr(type)) return btf__add_ptr(to_, /*void=*/0);
    if (btf_is_array(type)) return CopyArray(btf_array(type));
    if (btf_is_composite(type)) return CopyComposite(type);
    const int64_t size = btf__resolve_size(from_, id);
    if (size <= 0) return -1;
    const std::string name = StrCat("value_of_", size, "_bytes");
    return btf__add_int(to_, name.c_str(), static_cast<size_t>(size), 0);
  }

  int CopyArray(const struct btf_array* array) {
    const int element = Copy(array->type);
    const int index = Copy(array->index_type);
    if (element < 0 || index < 0) return -1;
    return btf__add_array(to_, index, element, array->nelems);
  }

  int CopyComposite(const btf_type* type) {
    const btf_member* members = btf_members(type);
    const uint16_t count = btf_vlen(type);
    for (uint16_t i = 0; i < count; ++i) {
      if (Copy(members[i].type) < 0) return -1;  // a member is added to what was added last
    }
    const char* name = NameAt(type->name_off);
    const int copy = btf_is_struct(type) ? btf__add_struct(to_, name, type->size)
                                         : btf__add_union(to_, name, type->size);
    for (uint16_t i = 0; i < count && copy >= 0; ++i) {
      if (btf__add_field(to_, NameAt(members[i].name_off), Copy(members[i].type),
                         btf_member_bit_offset(type, i), btf_member_bitfield_size(type, i)) != 0) {
        return -1;
      }
    }
    return copy;
  }

  const char* NameAt(uint32_t offset) const { return btf__name_by_offset(from_, offset); }

  const btf* from_;
  btf* to_;
  std::unordered_map<uint32_t, int> copies_;
};

Types CopyOfWhatIsNeeded() {
  const Types all(btf__load_vmlinux_btf());
  Types needed(btf__new_empty());
  if (all == nullptr || needed == nullptr) return nullptr;
  Copier copier(all.get(), needed.get());
  for (const char* name : kStructs) {
    const int id = btf__find_by_name_kind(all.get(), name, BTF_KIND_STRUCT);
    if (id < 0 || copier.Copy(static_cast<uint32_t>(id)) < 0) return nullptr;
  }
  return needed;
}

std::string MakeFile() {
  const Types types = CopyOfWhatIsNeeded();
  uint32_t size = 0;
  const void* data = types == nullptr ? nullptr : btf__raw_data(types.get(), &size);
  Fd file(memfd_create("kernel-types", MFD_CLOEXEC));
  if (data == nullptr || !file.valid() || write(file.get(), data, size) != ssize_t{size}) return "";
  return StrCat("/proc/self/fd/", file.Release());
}

}  // namespace

const char* KernelTypesPath() {
  static const std::string path = MakeFile();
  return path.empty() ? nullptr : path.c_str();
}

}  // namespace sbump
