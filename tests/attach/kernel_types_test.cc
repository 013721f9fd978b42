#include "daemon/attach/kernel_types.h"

#include <bpf/btf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <string>

namespace sbump {
namespace {

struct Freer {
  void operator()(btf* types) const { btf__free(types); }
};
using Types = std::unique_ptr<btf, Freer>;

const btf_type* Struct(const Types& types, const char* name) {
  const int id = btf__find_by_name_kind(types.get(), name, BTF_KIND_STRUCT);
  return id < 0 ? nullptr : btf__type_by_id(types.get(), static_cast<uint32_t>(id));
}

TEST(KernelTypesTest, EachStructIsAsTheKernelHasIt) {
  const Types kernels(btf__load_vmlinux_btf());
  if (kernels == nullptr) {  // and so sbump does not load here
    EXPECT_EQ(KernelTypesPath(), nullptr);
    return;
  }
  ASSERT_NE(KernelTypesPath(), nullptr);
  const Types copies(btf__parse_raw(KernelTypesPath()));
  ASSERT_NE(copies, nullptr);
  for (const char* name : {"task_struct", "signal_struct", "sigpending", "pid", "upid",
                           "pid_namespace", "ns_common"}) {
    const btf_type* original = Struct(kernels, name);
    const btf_type* copy = Struct(copies, name);
    ASSERT_NE(original, nullptr) << name;
    ASSERT_NE(copy, nullptr) << name;
    EXPECT_EQ(copy->size, original->size) << name;
    ASSERT_EQ(btf_vlen(copy), btf_vlen(original)) << name;
    for (uint16_t i = 0; i < btf_vlen(copy); ++i) {
      const btf_member& of_copy = btf_members(copy)[i];
      const btf_member& of_original = btf_members(original)[i];
      const std::string member = btf__name_by_offset(kernels.get(), of_original.name_off);
      EXPECT_EQ(btf__name_by_offset(copies.get(), of_copy.name_off), member) << name;
      EXPECT_EQ(btf_member_bit_offset(copy, i), btf_member_bit_offset(original, i)) << member;
      EXPECT_EQ(btf_member_bitfield_size(copy, i), btf_member_bitfield_size(original, i)) << member;
      EXPECT_EQ(btf__resolve_size(copies.get(), of_copy.type),
                btf__resolve_size(kernels.get(), of_original.type))
          << member;
    }
  }
  struct stat file {};
  ASSERT_EQ(stat(KernelTypesPath(), &file), 0);
  EXPECT_LT(file.st_size, 200'000);
}

}  // namespace
}  // namespace sbump
