#include "daemon/native/indirect_function.h"

#include <optional>
#include <set>

#include "daemon/base/str_cat.h"
#include "daemon/native/function_finder.h"

namespace sbump {
namespace {

class Choices {
 public:
  Choices(const IndirectFunction& function, const MemoryReader& memory)
      : function_(function), memory_(memory) {}

  void TakeFrom(const OpenedCode& code) {
    const bool own = &code == &function_.code;  // a second look at it finds nothing else
    code.elf.ForEachImportSlot([&](const ElfImportSlot& slot) {
      const bool by_resolver =
          own && slot.symbol.empty() && slot.resolver_vaddr == function_.resolver_vaddr;
      const bool by_name = function_.only_one_of_its_name && slot.symbol == function_.name;
      if (by_resolver || by_name) Take(RemoteAddr{slot.place_vaddr + code.load_bias});
    });
  }
  bool empty() const { return chosen_.empty(); }
  const std::set<uint64_t>& chosen() const { return chosen_; }
  bool elsewhere() const { return elsewhere_; }

 private:
  // A slot that was not bound yet leads to a stub, where no function begins.
  void Take(RemoteAddr slot) {
    const absl::StatusOr<uint64_t> value = memory_.ReadValue<uint64_t>(slot);
    if (!value.ok() || *value == 0) return;
    const uint64_t vaddr = *value - function_.code.load_bias;
    if (!function_.code.elf.IsExecutable(vaddr)) {
      elsewhere_ = true;
    } else if (vaddr != function_.resolver_vaddr && FunctionAt(function_.code.elf, vaddr).ok()) {
      chosen_.insert(vaddr);
    }
  }

  const IndirectFunction& function_;
  const MemoryReader& memory_;
  std::set<uint64_t> chosen_;
  bool elsewhere_ = false;
};

absl::Status NotProven(const IndirectFunction& function, std::string_view why) {
  return absl::FailedPreconditionError(
      StrCat(function.code.elf.name(), ": ", function.name,
             ": is an indirect function (the loader chooses what runs), and ", why));
}

}  // namespace

absl::StatusOr<FunctionText> ChosenFunction(
    const IndirectFunction& function, const MemoryReader& memory,
    const std::function<void(const std::function<void(const OpenedCode&)>&)>& visit_others) {
  Choices choices(function, memory);
  choices.TakeFrom(function.code);
  if (choices.empty() && function.only_one_of_its_name)
    visit_others([&](const OpenedCode& code) { choices.TakeFrom(code); });
  if (choices.chosen().size() == 1) return FunctionAt(function.code.elf, *choices.chosen().begin());
  if (choices.chosen().size() > 1) return NotProven(function, "several of its variants are in use");
  return NotProven(function, choices.elsewhere()
                                 ? "what was chosen is not in this file (the vdso?)"
                                 : "no loaded file has bound it, so that the choice is not known");
}

}  // namespace sbump
